/** How the server is, what it could not read, and what to do about it. */
import { useEffect } from "react";
import { api } from "../api/client";
import type { Health, Stats } from "../api/types.gen";
import { clock, count, dated, duration, money, tokens } from "../state/format";
import { firstLine } from "../state/text";
import { Copy } from "../ui/Text";
import { Loading, Trouble } from "../ui/Trouble";
import { useAnswer, useNow } from "../ui/hooks";

export function HealthPage() {
  const now = useNow(true);
  const every = Math.floor(now / 3000);
  const both = useAnswer(() => Promise.all([api.health(), api.stats()]), "health", every);
  useEffect(() => {
    document.title = "Health – Ramify";
  }, []);
  if (both.error && !both.value) return <Trouble error={both.error} again={both.again} />;
  return (
    <section className="list-page" aria-label="health">
      <h1>Health</h1>
      {both.value ? <Facts health={both.value[0]} stats={both.value[1]} /> : <Loading />}
    </section>
  );
}

function Facts({ health, stats }: { health: Health; stats: Stats }) {
  const { capture } = health;
  return (
    <>
      <p className={`verdict ${health.status}`} role="status">
        {verdict(health, stats)}
      </p>
      <dl className="triple">
        {figures(health, stats).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {capture.stored === 0 && <Nothing />}
      {capture.problem && <p className="trouble-line error">{firstLine(capture.problem, 300)}</p>}
      <h2>What could not be read</h2>
      {stats.unreadable === 0 ? (
        <p>Nothing: every observation was understood.</p>
      ) : (
        <ul className="refs">
          {stats.unreadable_newest.map((one) => (
            <li key={one.observation}>
              <time>{clock(one.at)}</time>
              <code>{firstLine(one.observation, 40)}</code>
              <span>{firstLine(one.reason, 200)}</span>
            </li>
          ))}
        </ul>
      )}
      <ForgottenList />
    </>
  );
}

/** Of what is gone only this stays. */
function ForgottenList() {
  const notes = useAnswer(() => api.forgotten(), "forgotten");
  if (!notes.value?.items.length) return null;
  return (
    <>
      <h2>What was forgotten</h2>
      <ul className="refs" aria-label="what was forgotten">
        {notes.value.items.slice(0, 50).map((one) => (
          <li key={one.id}>
            <time>{dated(one.at)}</time>
            <code>{firstLine(one.id, 40)}</code>
            <span>
              {count(one.observations, "observation")}, by {firstLine(one.by, 80)}
              {one.back && `; brought back ${dated(one.back)}`}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

function verdict(health: Health, stats: Stats): string {
  if (health.capture.lost) return `${count(health.capture.lost, "observation")} were lost: the disk or the store could not take them.`;
  if (health.capture.problem) return "The store cannot be written just now; what is seen meanwhile waits on disk.";
  if (stats.unreadable) return `Working; ${count(stats.unreadable, "observation")} could not be read and are kept as they were.`;
  if (health.notices?.length) return "Working; see the notices above.";
  return "Everything works: nothing was lost, everything was read.";
}

function figures(health: Health, stats: Stats): [string, string][] {
  return [
    ["version", health.version],
    ["up for", duration(health.uptime_s * 1000)],
    ["stored since start", String(health.capture.stored)],
    ["waiting", String(health.capture.waiting)],
    ["on disk, waiting", String(health.capture.spooled)],
    ["lost", String(health.capture.lost)],
    ["conversations", String(stats.conversations)],
    ["tasks", String(stats.tasks)],
    ["model calls", `${stats.calls} (${stats.failed} failed, ${stats.aborted} cut short)`],
    ["tool calls", String(stats.tool_calls)],
    ["tokens", tokens((stats.usage?.input ?? 0) + (stats.usage?.output ?? 0))],
    ["cost", money(stats.usage?.cost_usd)],
    ["sends on to", health.upstream],
    ["store", health.store],
  ];
}

function Nothing() {
  const command = `export ANTHROPIC_BASE_URL=${location.origin}`;
  return (
    <div className="note">
      <p>The proxy is up, but no request was seen since it started. Is the client pointed at it?</p>
      <p className="command">
        <code>{command}</code> <Copy text={command} />
      </p>
    </div>
  );
}
