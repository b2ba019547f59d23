/** What went wrong with one part of the page; the rest stays usable. */
import type { ApiError } from "../api/client";

export function Trouble({ error, again }: { error: ApiError; again: () => void }) {
  return (
    <div className="trouble" role="alert">
      <strong>{error.message}</strong>
      <p>{error.hint}</p>
      <button type="button" onClick={again}>
        Try again
      </button>
    </div>
  );
}

/** The layout that will come, after a moment; no spinner. */
export function Loading({ rows = 6 }: { rows?: number }) {
  return (
    <div className="loading" role="status" aria-label="loading">
      {Array.from({ length: rows }, (_, at) => (
        <div key={at} />
      ))}
    </div>
  );
}
