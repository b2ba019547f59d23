/** What went wrong with one part of the page; the rest stays usable. */
import { useState } from "react";
import type { ApiError } from "../api/client";
import { keepToken } from "../api/client";

export function Trouble({ error, again }: { error: ApiError; again: () => void }) {
  const [token, set] = useState("");
  const unlock = (event: React.FormEvent) => {
    event.preventDefault();
    keepToken(token);
    again();
  };
  return (
    <div className="trouble" role="alert">
      <strong>{error.message}</strong>
      <p>{error.hint}</p>
      {error.status === 401 ? (
        <form onSubmit={unlock}>
          <label>
            Token <input type="password" value={token} onChange={(event) => set(event.target.value)} autoComplete="off" />
          </label>
          <button type="submit">Unlock</button>
        </form>
      ) : (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
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
