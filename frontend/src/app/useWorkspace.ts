import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useSyncExternalStore } from "react";
import { useLocation } from "wouter";
import { compileMask, listPresets } from "../api/calls";
import type { Preset } from "../api/types";
import type { Draft } from "../domain/drafts";
import { decodeFragment, encodeFragment } from "../domain/shareLink";
import { sameValues } from "../domain/values";
import { readCurrentDraft, writeCurrentDraft } from "./useDrafts";
import { Workspace, type WorkspaceState } from "./workspace";

const FIRST_PRESET = "hstu";
const KEEP_AFTER_MS = 400;

interface Options {
  /** Keeps the text that is about to be replaced. */
  putAside: (draft: Draft) => void;
  say: (text: string) => void;
}

/** The one workspace of this tab, kept while other pages are visited, in local storage, and in the address. */
export function useWorkspace({ putAside, say }: Options): {
  workspace: Workspace;
  state: WorkspaceState;
  open: (draft: Draft) => void;
} {
  const held = useRef<Workspace | null>(null);
  held.current ??= new Workspace(compileMask);
  const workspace = held.current;
  const state = useSyncExternalStore(workspace.subscribe, workspace.getState);
  const queries = useQueryClient();

  const open = useCallback(
    (draft: Draft) => {
      if (workspace.getState().ready && !same(workspace.draft(), draft) && !isPreset(queries, workspace.draft()))
        putAside(workspace.draft());
      workspace.open(draft);
    },
    [workspace, putAside, queries],
  );

  /** Opens the program in the address; false when there is none. */
  const openLink = useCallback(async (): Promise<boolean> => {
    try {
      const linked = await decodeFragment(location.hash);
      if (!linked) return false;
      const kept = workspace.getState().ready ? null : readCurrentDraft();
      if (kept && !same(kept, linked) && !isPreset(queries, kept)) putAside(kept);
      open(linked);
      return true;
    } catch (error) {
      say(error instanceof Error ? error.message : "This link cannot be read.");
      return false;
    }
  }, [workspace, open, putAside, queries, say]);

  useEffect(() => {
    const start = async () => {
      if (await openLink()) return;
      const kept = readCurrentDraft();
      if (kept) return workspace.open(kept);
      const presets = await queries.fetchQuery({
        queryKey: ["presets"],
        queryFn: () => listPresets(),
        staleTime: Infinity,
        retry: 30,
        retryDelay: 2000,
      });
      const first = presets.find((preset) => preset.name === FIRST_PRESET) ?? presets[0];
      if (first && !workspace.getState().ready) workspace.open(first);
    };
    start().catch(() => say("The gallery could not be read, so the editor starts empty."));
    const follow = () => void openLink();
    window.addEventListener("hashchange", follow);
    return () => window.removeEventListener("hashchange", follow);
  }, [workspace, openLink, queries, say]);

  const [page] = useLocation();
  useKeeping(workspace, state, page);
  return { workspace, state, open };
}

function same(a: Draft, b: Draft): boolean {
  return a.source === b.source && sameValues(a.values, b.values);
}

/** What the gallery has anyway need not be kept. */
function isPreset(queries: QueryClient, draft: Draft): boolean {
  return queries.getQueryData<Preset[]>(["presets"])?.some((preset) => same(preset, draft)) ?? false;
}

/** Writes text and values to local storage and, on the editor's page, to the address. */
function useKeeping(workspace: Workspace, state: WorkspaceState, page: string): void {
  const { ready, source, given, result } = state;
  // biome-ignore lint/correctness/useExhaustiveDependencies: what the draft is made of stands in the list
  useEffect(() => {
    if (!ready) return;
    const keep = () => {
      const draft = workspace.draft();
      writeCurrentDraft(draft);
      void encodeFragment(draft).then((fragment) => {
        if (location.pathname === "/" && workspace.draft().source === draft.source)
          history.replaceState(history.state, "", fragment);
      });
    };
    const timer = setTimeout(keep, KEEP_AFTER_MS);
    window.addEventListener("pagehide", keep);
    return () => {
      clearTimeout(timer);
      window.removeEventListener("pagehide", keep);
    };
  }, [workspace, ready, source, given, result, page]);
}
