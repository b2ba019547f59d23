/** The page of one saved run: the same panes, with answers from the file that it stands in. No server, no network. */
import { Suspense } from "react";
import { createRoot } from "react-dom/client";
import { feed } from "./api/live";
import { source } from "./api/source";
import { RunPage } from "./pages/RunPage";
import type { Snapshot } from "./state/saved";
import { SavedRun } from "./state/saved";
import { formatView } from "./state/view";
import { Overlays } from "./ui/Overlays";
import { Theme } from "./ui/Theme";
import { Loading } from "./ui/Trouble";
import { NavigationProvider, fresh, useNavigation } from "./ui/navigation";
import { TabsProvider } from "./ui/tabs";
import "./styles";

function Saved({ run }: { run: Snapshot }) {
  return (
    <NavigationProvider>
      <TabsProvider>
        <header className="top">
          <span className="brand">Ramify</span>
          <span className="live">
            a saved run{run.left_out.length > 0 && `, without ${run.left_out.join(", ")}`}
          </span>
          <span className="room" />
          <Theme />
        </header>
        <main id="main">
          <Suspense fallback={<Loading rows={8} />}>
            <Shown run={run} />
          </Suspense>
        </main>
        <Overlays />
      </TabsProvider>
    </NavigationProvider>
  );
}

function Shown({ run }: { run: Snapshot }) {
  const { view } = useNavigation();
  if (view.page === "task" && run.tasks[view.id]) return <RunPage key={view.id} subject="task" id={view.id} />;
  if (run.conversation) return <RunPage key={run.conversation.id} subject="conversation" id={run.conversation.id} />;
  return <RunPage key={run.id} subject="task" id={run.id} />;
}

function begin(): void {
  const run = JSON.parse(document.getElementById("run")?.textContent ?? "null") as Snapshot;
  const answers = new SavedRun(run);
  source.saved = true;
  source.home = formatView(fresh(run.conversation ? { page: "conversation", id: run.conversation.id } : { page: "task", id: run.id }));
  source.fetch = async (url) => {
    const { status, body } = answers.answer(url);
    return new Response(typeof body === "string" ? body : JSON.stringify(body), { status });
  };
  feed.hold();
  const page = document.getElementById("page");
  if (page) createRoot(page).render(<Saved run={run} />);
}

begin();
