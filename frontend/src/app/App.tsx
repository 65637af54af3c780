import { type QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { lazy, Suspense, useCallback, useState } from "react";
import { Route, Switch, useLocation } from "wouter";
import { Boundary } from "../widgets/Boundary";
import { SkeletonLines } from "../widgets/Feedback";
import { ToastProvider, useToast } from "../widgets/Toasts";
import type { Begun } from "./begin";
import { EditorPage } from "./pages/EditorPage";
import { NotFoundPage } from "./pages/NotFoundPage";
import { EDITOR_PATHS, LAUNCH_PATH, RUN_PATH } from "./places";
import { Shell } from "./Shell";
import { ShortcutsDialog } from "./ShortcutsDialog";
import { useTheme } from "./theme";
import { useConnection } from "./useConnection";
import { useLiveRuns } from "./useLiveRuns";
import { useShortcuts } from "./useShortcuts";
import { useTitle } from "./useTitle";
import { useWorkspace } from "./useWorkspace";

const MasksPage = lazy(() => import("./pages/MasksPage"));
const DiffPage = lazy(() => import("./pages/DiffPage"));
const RunsPage = lazy(() => import("./pages/RunsPage"));
const LaunchesPage = lazy(() => import("./pages/LaunchesPage"));
const RunPage = lazy(() => import("./pages/RunPage"));
const ComparePage = lazy(() => import("./pages/ComparePage"));
const EnvironmentPage = lazy(() => import("./pages/EnvironmentPage"));

export function App({ begun, queries }: { begun: Begun; queries: QueryClient }) {
  return (
    <QueryClientProvider client={queries}>
      <ToastProvider>
        <Studio begun={begun} />
      </ToastProvider>
    </QueryClientProvider>
  );
}

function Studio({ begun }: { begun: Begun }) {
  const { theme, toggle } = useTheme();
  const toast = useToast();
  const say = useCallback((text: string) => toast({ text }), [toast]);
  const studio = useWorkspace(begun, say);
  const { workspace, state, open } = studio;
  const { down, retry } = useConnection(state.fault, () => workspace.compileNow());
  const { activeLaunches, newRuns, clearNewRuns } = useLiveRuns();
  const [help, setHelp] = useState(false);
  useShortcuts(() => setHelp(true));
  const [location] = useLocation();
  useTitle(location, state.program?.name);

  return (
    <Shell
      theme={theme}
      onToggleTheme={toggle}
      onShortcuts={() => setHelp(true)}
      down={down}
      onRetry={retry}
      newRuns={newRuns}
      activeLaunches={activeLaunches}
    >
      <Boundary of={location}>
        <Suspense
          fallback={
            <div className="page">
              <SkeletonLines lines={8} height={20} />
            </div>
          }
        >
          <Switch>
            <Route path={EDITOR_PATHS}>
              <EditorPage studio={studio} theme={theme} />
            </Route>
            <Route path="/masks">
              <MasksPage theme={theme} />
            </Route>
            <Route path="/diff">
              <DiffPage theme={theme} studio={studio} />
            </Route>
            <Route path="/runs">
              <RunsPage newRuns={newRuns} clearNewRuns={clearNewRuns} />
            </Route>
            <Route path={RUN_PATH}>{({ id }) => <RunPage id={Number(id)} theme={theme} open={open} />}</Route>
            <Route path="/launches">
              <LaunchesPage id={null} />
            </Route>
            <Route path={LAUNCH_PATH}>{({ id }) => <LaunchesPage id={Number(id)} />}</Route>
            <Route path="/compare">
              <ComparePage theme={theme} />
            </Route>
            <Route path="/environment">
              <EnvironmentPage />
            </Route>
            <Route>
              <NotFoundPage />
            </Route>
          </Switch>
        </Suspense>
      </Boundary>
      {help && <ShortcutsDialog onClose={() => setHelp(false)} />}
    </Shell>
  );
}
