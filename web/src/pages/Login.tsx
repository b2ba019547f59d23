/** Who are you? Asked once, in place of everything else: without an answer there is nothing to show. */
import { useEffect, useState } from "react";
import { api } from "../api/client";
import { gate } from "../state/gate";
import { asApiError, useAnswer } from "../ui/hooks";

export function Login() {
  const ways = useAnswer(() => api.loginWays(), "login");
  const [token, type] = useState("");
  const [busy, work] = useState(false);
  const [problem, tell] = useState(() => refusedElsewhere());
  useEffect(() => {
    document.title = "Log in – Ramify";
  }, []);
  const enter = async (event: React.FormEvent) => {
    event.preventDefault();
    work(true);
    tell("");
    try {
      gate.open(await api.logIn(token));
    } catch (error) {
      const { message, hint } = asApiError(error);
      tell(`${message}. ${hint}.`);
      work(false);
    }
  };
  return (
    <main id="main" className="login">
      <form onSubmit={(event) => void enter(event)} aria-label="log in">
        <img src="/icon.svg" alt="" width="40" height="40" />
        <h1>Log in to Ramify</h1>
        {ways.value?.oidc && (
          <>
            <a className="button" href="/api/oidc/login">
              Continue with {ways.value.oidc}
            </a>
            <p className="or">or</p>
          </>
        )}
        <label>
          Token
          <input type="password" value={token} onChange={(event) => type(event.target.value)} autoComplete="off" spellCheck={false} placeholder="rmf_…" autoFocus required />
        </label>
        <button type="submit" disabled={busy || !token.trim()}>
          {busy ? "One moment…" : "Log in"}
        </button>
        {problem && (
          <p className="trouble-line error" role="alert">
            {problem}
          </p>
        )}
        <p className="faint">
          Whoever runs this server gives you one: <code>ramify token create</code>
        </p>
      </form>
    </main>
  );
}

/** Why a login by somebody else's word came to nothing; said once. */
function refusedElsewhere(): string {
  const said = new URLSearchParams(location.search).get("login");
  if (!said) return "";
  history.replaceState(null, "", location.pathname);
  return said === "unknown" ? "You are known there, but nobody here has given you any rights." : "Logging in did not work. Try again.";
}
