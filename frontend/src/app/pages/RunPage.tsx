import { useQueryClient } from "@tanstack/react-query";
import { useLocation } from "wouter";
import type { Run } from "../../api/types";
import type { Draft } from "../../domain/drafts";
import type { ThemeName } from "../../domain/palette";
import { RunPane } from "../../panes/run/RunPane";
import { useToast } from "../../widgets/Toasts";
import { deleteLater } from "../deleteLater";

interface RunPageProps {
  id: number;
  theme: ThemeName;
  open: (draft: Draft) => void;
}

export default function RunPage({ id, theme, open }: RunPageProps) {
  const [, navigate] = useLocation();
  const queries = useQueryClient();
  const toast = useToast();

  const onDelete = (run: Run) => {
    const { undo, graceMs } = deleteLater(run.id, {
      deleted: () => void queries.invalidateQueries({ queryKey: ["runs"] }),
      failed: (message) => toast({ text: `Run ${run.id} was not deleted: ${message}` }),
    });
    navigate("/runs");
    toast({
      text: `Run ${run.id} will be deleted.`,
      ms: graceMs,
      action: {
        label: "Undo",
        run: () => {
          undo();
          navigate(`/runs/${run.id}`);
        },
      },
    });
  };
  const onOpenInEditor = (draft: Draft) => {
    open(draft);
    navigate("/");
  };
  return <RunPane id={id} theme={theme} onOpenInEditor={onOpenInEditor} onDelete={onDelete} />;
}
