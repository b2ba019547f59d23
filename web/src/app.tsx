/** The frame: header, rail, tabs, and the page that the address names. */
import { Suspense, lazy, useEffect, useSyncExternalStore } from "react";
import { api } from "./api/client";
import { feed } from "./api/live";
import { source } from "./api/source";
import { duration, grouped } from "./state/format";
import { gate } from "./state/gate";
import type { Page } from "./state/view";
import { TabStrip } from "./panes/TabStrip";
import { CallsPage } from "./pages/CallsPage";
import { Conversations } from "./pages/Conversations";
import { HealthPage } from "./pages/HealthPage";
import { Latest } from "./pages/Latest";
import { Login } from "./pages/Login";
import { RunPage } from "./pages/RunPage";
import { Runs } from "./pages/Runs";
import { Search } from "./pages/Search";
import { NotFound } from "./pages/Unknown";
import { Loading } from "./ui/Trouble";
import { Notices } from "./ui/Notices";
import { Overlays } from "./ui/Overlays";
import { Theme } from "./ui/Theme";
import { useInSight, useNow, useStore } from "./ui/hooks";
import { useKeys } from "./ui/keyboard";
import { Link, NavigationProvider, fresh, useNavigation } from "./ui/navigation";
import { TabsProvider } from "./ui/tabs";

// Of those whose agents are all in one place nobody opens these: they come when they are asked for.
const Operations = lazy(async () => ({ default: (await import("./pages/Operations")).Operations }));
const OperationPage = lazy(async () => ({ default: (await import("./pages/OperationPage")).OperationPage }));
const Compare = lazy(async () => ({ default: (await import("./pages/Compare")).Compare }));
const FindingsPage = lazy(async () => ({ default: (await import("./pages/FindingsPage")).FindingsPage }));
const StatisticsPage = lazy(async () => ({ default: (await import("./pages/StatisticsPage")).StatisticsPage }));
const AuditPage = lazy(async () => ({ default: (await import("./pages/AuditPage")).AuditPage }));
const EventsPage = lazy(async () => ({ default: (await import("./pages/EventsPage")).EventsPage }));

const RAIL: [Page, string, string][] = [
  ["runs", "Runs", "M4 5h12M4 10h12M4 15h8"],
  ["conversations", "Conversations", "M3 4h14v9H9l-4 3v-3H3z"],
  ["operations", "Operations", "M3 5h4v4H3zM13 3h4v4h-4zM13 12h4v4h-4zM7 7h3v-2h3M10 7v7h3"],
  ["events", "Events", "M4 4v12M4 6h9l3 2-3 2H4M8 14h8"],
  ["calls", "Calls", "M3 6h10l-3-3M17 14H7l3 3"],
  ["search", "Search", "M9 3a6 6 0 1 0 .01 0M13.5 13.5L18 18"],
  ["findings", "Findings", "M10 3l7.5 13.5h-15zM10 8v4M10 14.2v.1"],
  ["statistics", "Statistics", "M4 16V9M8.5 16V4M13 16v-5M17 16H3"],
  ["compare", "Compare", "M3 4h5v12H3zM12 4h5v12h-5z"],
  ["health", "Health", "M2 11h4l2-6 4 11 2-5h4"],
];

const AUDIT: [Page, string, string] = ["audit", "Audit", "M5 3h7l4 4v10H5zM8 9h5M8 12h5M8 15h3"];

/** While nobody knows who asks, nothing else is there: what is behind the login starts anew after it. */
export function App() {
  useStore(gate);
  return gate.locked ? <Login /> : <Opened />;
}

function Opened() {
  useEffect(() => {
    feed.start();
    feed.retry();
    if (!gate.who && !source.saved) api.me().then((who) => gate.open(who), () => undefined); // whoever is refused is asked to log in
  }, []);
  return (
    <NavigationProvider>
      <TabsProvider>
        <Header />
        <TabStrip />
        <Notices />
        <div className="frame">
          <Rail />
          <main id="main">
            <Suspense fallback={<Loading rows={8} />}>
              <CurrentPage />
            </Suspense>
          </main>
        </div>
        <Overlays />
      </TabsProvider>
    </NavigationProvider>
  );
}

function CurrentPage() {
  const { view } = useNavigation();
  switch (view.page) {
    case "runs":
      return <Runs />;
    case "conversations":
      return <Conversations />;
    case "calls":
      return <CallsPage />;
    case "search":
      return <Search />;
    case "compare":
      return <Compare />;
    case "findings":
      return <FindingsPage />;
    case "statistics":
      return <StatisticsPage />;
    case "health":
      return <HealthPage />;
    case "audit":
      return <AuditPage />;
    case "operations":
      return <Operations />;
    case "operation":
      return <OperationPage key={view.id} id={view.id} />;
    case "events":
      return <EventsPage />;
    case "latest":
      return <Latest />;
    case "task":
      return <RunPage key={view.id} subject="task" id={view.id} />;
    case "conversation":
      return <RunPage key={view.id} subject="conversation" id={view.id} />;
    default:
      return <NotFound what={view.id} />;
  }
}

function Header() {
  const { go } = useNavigation();
  useKeys({
    runs: () => go(fresh({ page: "runs" })),
    conversations: () => go(fresh({ page: "conversations" })),
    calls: () => go(fresh({ page: "calls" })),
    health: () => go(fresh({ page: "health" })),
    findings: () => go(fresh({ page: "findings" })),
    statistics: () => go(fresh({ page: "statistics" })),
    operations: () => go(fresh({ page: "operations" })),
    events: () => go(fresh({ page: "events" })),
    copy: () => void navigator.clipboard.writeText(location.href),
  });
  return (
    <header className="top">
      <a className="skip" href="#main">
        skip to the page
      </a>
      <Link to={fresh({ page: "runs" })} className="brand">
        <img src="/icon.svg" alt="" width="22" height="22" /> Ramify
      </Link>
      <span className="room" />
      <Pulse />
      <LiveMark />
      <Who />
      <Theme />
    </header>
  );
}

function Rail() {
  const { view } = useNavigation();
  useStore(gate);
  const current = view.page === "task" ? "runs" : view.page === "conversation" ? "conversations" : view.page === "operation" ? "operations" : view.page;
  const strip = useInSight<HTMLElement>("[aria-current]", current);
  return (
    <nav className="rail" aria-label="pages" ref={strip}>
      {(gate.may("admin") ? [...RAIL, AUDIT] : RAIL).map(([page, words, path]) => (
        <Link key={page} to={fresh({ page })} aria-current={current === page ? "page" : undefined}>
          <svg viewBox="0 0 20 20" width="18" height="18" fill="none" stroke="currentColor" strokeWidth="1.7" strokeLinecap="round" strokeLinejoin="round" aria-hidden="true">
            <path d={path} />
          </svg>
          <span>{words}</span>
        </Link>
      ))}
    </nav>
  );
}

/** Only who has logged in can log out. */
function Who() {
  useStore(gate);
  if (!gate.who?.login) return null;
  return (
    <span className="who">
      <span title={gate.who.projects ? `projects: ${gate.who.projects.join(", ")}` : "every project"}>{gate.who.name}</span>
      <button type="button" className="quiet" onClick={() => void api.logOut().finally(() => gate.lock())}>
        log out
      </button>
    </span>
  );
}

function LiveMark() {
  const state = useSyncExternalStore(feed.watch, feed.current);
  const now = useNow(state.kind === "disconnected");
  switch (state.kind) {
    case "saved":
      return null;
    case "live":
      return <span className="live on">live</span>;
    case "behind":
      return <span className="live behind">behind by {grouped(state.changes)} changes, catching up</span>;
    case "connecting":
      return <span className="live">connecting</span>;
    case "disconnected":
      return (
        <span className="live off" role="status">
          disconnected for {duration(now - state.since)}, next try in {duration(Math.max(0, state.nextTry - now))}
          <button type="button" className="quiet" onClick={() => feed.retry()}>
            now
          </button>
        </span>
      );
  }
}

/** Arrivals of the last two minutes. */
function Pulse() {
  const now = useNow(true);
  const bins = Array.from({ length: 40 }, () => 0);
  for (const at of feed.arrivals) {
    const bin = 39 - Math.floor((now - at) / 3000);
    if (bin >= 0 && bin < 40) bins[bin] = (bins[bin] ?? 0) + 1;
  }
  const most = Math.max(4, ...bins);
  return (
    <svg className="arrivals" width="120" height="18" role="img" aria-label="arrivals of the last two minutes">
      {bins.map((size, at) => (size ? <rect key={at} x={at * 3} width="2" y={18 - (size / most) * 18} height={(size / most) * 18} /> : null))}
    </svg>
  );
}
