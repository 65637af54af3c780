import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useLocation } from "wouter";
import { createLaunch } from "../api/calls";
import { changeRuns } from "../api/runCalls";
import type { LaunchCreate, RunAction } from "../api/types";
import { plural } from "../domain/format";
import { useToast } from "../widgets/Toasts";

const UNDO_MS = 10_000;
const DONE: Record<"archive" | "restore" | "delete" | "undelete", string> = {
  archive: "archived",
  restore: "restored from the archive",
  delete: "deleted",
  undelete: "brought back",
};
const BACK: Partial<Record<RunAction, RunAction>> = {
  archive: "restore",
  restore: "archive",
  delete: "undelete",
  tag: "untag",
  untag: "tag",
};

/** What is done to stored runs, each with its way back. */
export function useRunActions() {
  const queries = useQueryClient();
  const toast = useToast();
  const [, navigate] = useLocation();

  const refresh = async (ids: readonly number[], action: RunAction) => {
    for (const id of ids) queries.removeQueries({ queryKey: ["run", id], type: "inactive" });
    // A page of a run that was just deleted must not ask for it again.
    const lists = ["runs", "run-facets", "run-groups"];
    const keys = action === "delete" ? lists : [...lists, "run"];
    await Promise.all(keys.map((key) => queries.invalidateQueries({ queryKey: [key] })));
  };
  const change = useMutation({
    mutationFn: ({
      ids,
      action,
      tag,
    }: {
      ids: readonly number[];
      action: RunAction;
      tag?: string;
      undone?: () => void;
    }) => changeRuns(ids, action, tag),
    onSuccess: (changed, { action, tag, undone }) => {
      void refresh(changed, action);
      const back = BACK[action];
      if (changed.length === 0) toast({ text: "Nothing had to be changed." });
      else
        toast({
          text: doneText(changed.length, action, tag),
          ms: UNDO_MS,
          action: back && {
            label: "Undo",
            run: () => {
              changeRuns(changed, back, tag).then(
                () => {
                  void refresh(changed, back);
                  undone?.();
                },
                (error: Error) => toast({ text: error.message }),
              );
            },
          },
        });
    },
    onError: (error) => toast({ text: error.message }),
  });
  const start = useMutation({
    mutationFn: (body: LaunchCreate) => createLaunch(body),
    onSuccess: (launch) => {
      queries.setQueryData(["launch", launch.id], launch);
      navigate(`/launches/${launch.id}`);
    },
    onError: (error) => toast({ text: error.message }),
  });
  return { change: change.mutateAsync, start: start.mutate };
}

function doneText(count: number, action: RunAction, tag: string | undefined): string {
  const runs = plural(count, "run");
  if (action === "tag") return `${runs} tagged “${tag}”.`;
  if (action === "untag") return `“${tag}” taken off ${runs}.`;
  return `${runs} ${DONE[action]}.`;
}
