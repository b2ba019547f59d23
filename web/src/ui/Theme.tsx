/** Light or dark: the system's choice, until somebody chooses. */
import { useState } from "react";

export function Theme() {
  const dark = () => document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  const [theme, set] = useState(dark);
  const turn = () => {
    const next = theme === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    localStorage.setItem("ramify.theme", next);
    set(next);
  };
  return (
    <button type="button" className="quiet" onClick={turn}>
      {theme === "dark" ? "light" : "dark"}
    </button>
  );
}
