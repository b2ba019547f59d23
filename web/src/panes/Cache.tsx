/** The prompt cache: one column for each call, and for each miss the first place where the prompt changed. */
import { api } from "../api/client";
import type { CacheEntry, Call } from "../api/types.gen";
import { clock, count, grouped, money, tokens } from "../state/format";
import { firstLine, visible } from "../state/text";
import { Loading, Trouble } from "../ui/Trouble";
import { useAnswer } from "../ui/hooks";
import { useNavigation } from "../ui/navigation";

export function Cache({ id }: { id: string }) {
  const story = useAnswer(() => api.cache(id), id);
  const calls = useAnswer(() => api.calls({ task: id, limit: 500 }), id);
  if (story.error) return <Trouble error={story.error} again={story.again} />;
  if (!story.value || !calls.value) return <Loading />;
  const byId = new Map(calls.value.items.map((call) => [call.id, call]));
  const misses = story.value.items.filter((entry) => entry.lost > 0);
  const lost = misses.reduce((sum, entry) => sum + entry.lost, 0);
  const dollars = misses.every((entry) => entry.lost_usd !== null) ? misses.reduce((sum, entry) => sum + (entry.lost_usd ?? 0), 0) : null;
  return (
    <section className="pane cache-pane" aria-label="prompt cache" tabIndex={0}>
      <p className="lead">
        {misses.length === 0
          ? `${count(story.value.items.length, "call")}: each read from the cache what the one before had left there.`
          : `${count(misses.length, "call")} of ${story.value.items.length} missed the cache: ${tokens(lost)} tokens were read anew, which cost ${money(dollars)} more.`}
      </p>
      <Columns entries={story.value.items} calls={byId} />
      <p className="legend">
        {LEGEND.map(([kind, words]) => (
          <span key={kind}>
            <i className={kind} aria-hidden="true" />
            {words}
          </span>
        ))}
      </p>
      {misses.map((entry) => (
        <Miss key={entry.call} entry={entry} call={byId.get(entry.call)} />
      ))}
    </section>
  );
}

const LEGEND = [
  ["read", "read from the cache"],
  ["written", "written to it"],
  ["new", "neither"],
  ["missed", "was in the cache and was read anew"],
] as const;

function Columns({ entries, calls }: { entries: CacheEntry[]; calls: Map<string, Call> }) {
  const { view, adjust } = useNavigation();
  const sizes = entries.map((entry) => prompt(calls.get(entry.call)));
  const largest = Math.max(1, ...sizes);
  return (
    <div className="cache-columns" role="group" aria-label="calls">
      {entries.map((entry, at) => {
        const usage = calls.get(entry.call)?.usage;
        const share = (part: number) => `${(part / largest) * 100}%`;
        return (
          <button
            key={entry.call}
            type="button"
            className={`cache-column${view.selected === `call:${entry.call}` ? " selected" : ""}`}
            title={`call ${at + 1}: ${tokens(usage?.cache_read ?? 0)} read, ${tokens(usage?.cache_write ?? 0)} written, ${tokens(usage?.input ?? 0)} new`}
            aria-label={`call ${at + 1}${entry.lost ? ", missed" : ""}`}
            onClick={() => adjust({ selected: `call:${entry.call}` })}
          >
            <i className={entry.lost ? "missed" : "new"} style={{ height: share(usage?.input ?? 0) }} />
            <i className={entry.lost ? "missed" : "written"} style={{ height: share(usage?.cache_write ?? 0) }} />
            <i className="read" style={{ height: share(usage?.cache_read ?? 0) }} />
          </button>
        );
      })}
    </div>
  );
}

const prompt = (call: Call | undefined) => (call ? call.usage.input + call.usage.cache_read + call.usage.cache_write : 0);

function Miss({ entry, call }: { entry: CacheEntry; call: Call | undefined }) {
  const { difference } = entry;
  return (
    <article className="miss">
      <h3>
        {clock(call?.opened ?? null)}: {tokens(entry.lost)} tokens read anew <span className="chip warning">{entry.cause}</span>
      </h3>
      <p className="faint">
        The first {entry.same} of {entry.segments} segments were the same
        {difference ? `; ${firstLine(difference.segment, 40)} differs at character ${grouped(difference.at)}.` : "."}
      </p>
      {difference && (
        <div className="sides">
          <pre aria-label="before">{marked(difference.old, difference.at - difference.shown_from)}</pre>
          <pre aria-label="after">{marked(difference.new, difference.at - difference.shown_from)}</pre>
        </div>
      )}
    </article>
  );
}

function marked(text: string, at: number) {
  return (
    <>
      {visible(text.slice(0, at))}
      <mark>{visible(text.slice(at, at + 40)) || "∅"}</mark>
      {visible(text.slice(at + 40))}
    </>
  );
}
