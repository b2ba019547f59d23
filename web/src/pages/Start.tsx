/** For a newcomer: how to see the first run, in one line. It turns by itself when something arrives. */
import { api } from "../api/client";
import { LoadDemo } from "../panes/Demo";
import { Copy } from "../ui/Text";
import { useAnswer, useNow } from "../ui/hooks";

export function Start() {
  const now = useNow(true);
  const health = useAnswer(() => api.health(), "health", Math.floor(now / 5000));
  const here = location.origin;
  const ways: [string, string, string][] = [
    ["Run a program and see what it does", "ramify run claude", "Nothing to set up: its traffic passes through here, and its tree is printed when it ends."],
    ["Point any client of the Messages API here", `export ANTHROPIC_BASE_URL=${here}`, "Then start it as always, in the same terminal."],
    ["Watch agents that talk A2A", "ramify serve --a2a planner=http://127.0.0.1:9000", `Clients, and agents that call it, reach it at ${here}/a2a/planner; every task and sub-task shows.`],
    ["Listen to an agent mesh", "ramify listen solace --host tcp://127.0.0.1:55555 --namespace my/mesh", "Or import what was captured: ramify import --format sam messages.jsonl"],
    ["Tell what your program asks of agents", `curl -X POST ${here}/api/events -H 'content-type: application/json' -d @events.json`, "Or ramify.operation(…) in Python. Webhooks go to /webhook/TASK/AGENT/OPERATION."],
    ["Load what is already there", "ramify import ~/.claude", "Claude Code's own transcripts, of any age; recorded exchanges and streams work too."],
  ];
  return (
    <section className="start" aria-label="start">
      <h1>Nothing was seen yet</h1>
      <p className="lead">Ramify shows what your agents, and the agents they started, really did. Let it see something:</p>
      <div className="first-way">
        <h2>See one that plays itself</h2>
        <LoadDemo />
        <p className="faint">Six agents look into a slow website, live, through the real proxy and into this store (project “demo”). Needs no key and no network.</p>
      </div>
      <ol>
        {ways.map(([title, command, words]) => (
          <li key={title}>
            <h2>{title}</h2>
            <p className="command">
              <code>{command}</code> <Copy text={command} />
            </p>
            <p className="faint">{words}</p>
          </li>
        ))}
      </ol>
      <p className="waiting" role="status">
        <span className="pulse" aria-hidden="true" /> Waiting for the first request
        {health.value ? `: the proxy is up and sends on to ${health.value.upstream}; ${health.value.capture.stored} observations so far.` : "…"}
      </p>
    </section>
  );
}
