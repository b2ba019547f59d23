/** Request and response as they were on the wire, secrets cut out. */
import { useState } from "react";
import { api, body, save } from "../api/client";
import type { Call } from "../api/types.gen";
import { bytes, clock } from "../state/format";
import { onlyReported, sourceWords } from "../state/sources";
import { firstLine } from "../state/text";
import { Copy, LongText } from "../ui/Text";
import { Loading, Trouble } from "../ui/Trouble";
import { useAnswer } from "../ui/hooks";

export function Raw({ kind, id }: { kind: string; id: string }) {
  const calls = useAnswer(() => callsOf(kind, id), `${kind}:${id}`);
  const [chosen, choose] = useState<string | null>(null);
  if (calls.error) return <Trouble error={calls.error} again={calls.again} />;
  if (!calls.value) return <Loading />;
  if (!calls.value.length) return <p className="faint">No request of this was seen.</p>;
  const shown = calls.value.find((call) => call.id === chosen) ?? calls.value[0];
  return (
    <>
      {calls.value.length > 1 && (
        <label>
          Model call{" "}
          <select value={shown?.id} onChange={(event) => choose(event.target.value)}>
            {calls.value.map((call, at) => (
              <option key={call.id} value={call.id}>
                {at + 1}: {clock(call.opened)} {firstLine(call.model ?? "", 30)} {call.status}
              </option>
            ))}
          </select>
        </label>
      )}
      {shown && (onlyReported(shown) ? <Reports call={shown} /> : <Sides call={shown.id} />)}
    </>
  );
}

function Sides({ call }: { call: string }) {
  return (
    <>
      <Side call={call} side="request" />
      <Side call={call} side="response" />
    </>
  );
}

/** There are no bytes of the wire, so the reports are shown as they were written. */
function Reports({ call }: { call: Call }) {
  const seen = useAnswer(() => Promise.all(call.observations.map((id) => api.observation(id))), call.id);
  return (
    <section className="raw">
      <p>
        This call was only reported, by {call.sources.map(sourceWords).join(" and ")}: nobody saw its request and response on the wire. This is what was
        reported.
      </p>
      {seen.error && <Trouble error={seen.error} again={seen.again} />}
      {(seen.value ?? []).map((one) => (
        <LongText key={one.id} text={pretty(one.body)} code lines={40} label="report" />
      ))}
    </section>
  );
}

async function callsOf(kind: string, id: string) {
  if (kind === "call") return [await api.call(id)];
  if (kind === "task") return (await api.calls({ task: id, limit: 200 })).items.toReversed();
  const { call } = await api.tool(id);
  return call ? [await api.call(call)] : [];
}

function Side({ call, side }: { call: string; side: "request" | "response" }) {
  const { value, error, again } = useAnswer(() => body(call, side), `${call}:${side}`);
  return (
    <section className="raw">
      <h3>
        {side} {value && <span className="faint">{bytes(value.bytes)}</span>}
        {value && (
          <button type="button" className="quiet" onClick={() => void save(call, side)}>
            download
          </button>
        )}
        {value && <Copy text={value.text} />}
      </h3>
      {error && (error.status === 404 ? <p className="faint">{error.message}</p> : <Trouble error={error} again={again} />)}
      {value?.encoding && <p className="faint">Packed as {value.encoding} on the wire; download it to unpack it.</p>}
      {value && !value.encoding && <LongText text={pretty(value.text)} code lines={40} label={side} />}
    </section>
  );
}

/** JSON is indented; anything else, such as a stream of events, is as it was. */
function pretty(text: string): string {
  if (text.length > 5_000_000 || !/^\s*[{[]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
