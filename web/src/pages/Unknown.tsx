/** An address or an id that nothing fits: what was looked for, and a way on. */
import { Link, fresh } from "../ui/navigation";

export function NotFound({ what }: { what: string }) {
  return (
    <section className="start" role="alert">
      <h1>Nothing has this id</h1>
      <p>
        Looked for <code>{what.slice(0, 200)}</code>. It may belong to another store, or was never seen.
      </p>
      <p>
        <Link to={fresh({ page: "search", words: what.replace(/^\//, "") })}>Search for it</Link> or go to <Link to={fresh({ page: "runs" })}>all runs</Link>.
      </p>
    </section>
  );
}
