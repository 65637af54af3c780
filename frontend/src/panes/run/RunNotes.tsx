import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { updateRun } from "../../api/calls";
import type { Run } from "../../api/types";
import { Button } from "../../widgets/Button";
import { ErrorNotice } from "../../widgets/Feedback";
import { useToast } from "../../widgets/Toasts";

/** Name and note can be changed; nothing else of a run can. */
export function RunNotes({ run }: { run: Run }) {
  const [name, setName] = useState(run.name);
  const [note, setNote] = useState(run.note);
  const queries = useQueryClient();
  const toast = useToast();
  const save = useMutation({
    mutationFn: () => updateRun(run.id, { name, note }),
    onSuccess: (saved) => {
      queries.setQueryData(["run", run.id], saved);
      toast({ text: "Saved." });
    },
  });
  const changed = name !== run.name || note !== run.note;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  return (
    <form className="card notes" onSubmit={submit}>
      <h2>Name and note</h2>
      {save.isError && <ErrorNotice error={save.error} />}
      <label className="field">
        name
        <input className="input" maxLength={200} value={name} onChange={(event) => setName(event.target.value)} />
      </label>
      <label className="field">
        note
        <textarea
          className="input"
          rows={4}
          maxLength={5000}
          value={note}
          onChange={(event) => setNote(event.target.value)}
        />
      </label>
      <div>
        <Button type="submit" disabled={!changed} busy={save.isPending}>
          Save
        </Button>
      </div>
    </form>
  );
}
