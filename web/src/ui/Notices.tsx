/** What everybody should know before it is too late: room that runs out, rows that are being derived again. */
import { api } from "../api/client";
import { firstLine } from "../state/text";
import { useAnswer, useNow } from "./hooks";

const SECONDS = 15;

export function Notices() {
  const now = useNow(true);
  const health = useAnswer(() => api.health(), "notices", Math.floor(now / (SECONDS * 1000)));
  const notices = health.value?.notices ?? [];
  if (!notices.length) return null;
  return (
    <ul className="notices" role="status" aria-label="notices">
      {notices.map((notice) => (
        <li key={notice}>{firstLine(notice, 300)}</li>
      ))}
    </ul>
  );
}
