/** Conversations, newest first. */
import { useEffect } from "react";
import { api } from "../api/client";
import { feed } from "../api/live";
import { age, count, money, tokens } from "../state/format";
import { firstLine } from "../state/text";
import { Loading, Trouble } from "../ui/Trouble";
import { useAnswer, useNow } from "../ui/hooks";
import { Link, conversationView, useNavigation } from "../ui/navigation";
import { Filter } from "../panes/Filter";

export function Conversations() {
  const { view } = useNavigation();
  const list = useAnswer(() => api.conversations({ limit: 300 }), "conversations");
  const now = useNow(true);
  useEffect(() => {
    document.title = "Conversations – Ramify";
    feed.start();
    let timer: ReturnType<typeof setTimeout> | null = null;
    const soon = () => {
      timer ??= setTimeout(() => {
        timer = null;
        list.again();
      }, 1500);
    };
    return feed.listen({ changed: soon, restart: soon });
  }, []);
  if (list.error) return <Trouble error={list.error} again={list.again} />;
  if (!list.value) return <Loading rows={8} />;
  const words = view.words.toLowerCase();
  const shown = list.value.items.filter((one) => `${one.title} ${one.session} ${one.client} ${one.project}`.toLowerCase().includes(words));
  return (
    <section className="list-page" aria-label="conversations">
      <h1>Conversations</h1>
      <Filter shown={shown.length} all={list.value.items.length} />
      {list.value.items.length === 0 && <p className="empty">No conversation was seen yet.</p>}
      <ul className="runs">
        {shown.map((one) => (
          <li key={one.id}>
            <Link to={conversationView(one.id)}>
              <span className="title">{firstLine(one.title, 140) || one.id}</span>
              <span className="about">
                <span>{count(one.roots, "prompt")}</span>
                <span>{count(one.subtasks, "sub-task")}</span>
                {one.branches.length > 1 && <span title={one.branches.join(", ")}>{count(one.branches.length, "branch", "branches")}</span>}
                <span>{count(one.calls, "call")}</span>
                <span>{tokens(one.usage.input + one.usage.output)}</span>
                <span>{money(one.usage.cost_usd)}</span>
                {one.client && <span className="faint">{firstLine(one.client, 24)}</span>}
                <time dateTime={one.active ?? undefined}>{age(one.active, now)}</time>
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}
