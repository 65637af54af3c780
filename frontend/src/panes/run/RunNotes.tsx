import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { updateRun } from "../../api/calls";
import type { Run } from "../../api/types";
import { parseTags } from "../../domain/tags";
import { Button } from "../../widgets/Button";
import { ErrorNotice } from "../../widgets/Feedback";
import { useToast } from "../../widgets/Toasts";

/** Name, tags and note can be changed; nothing else of a run can. */
export function RunNotes({ run }: { run: Run }) {
  const [name, setName] = useState(run.name);
  const [note, setNote] = useState(run.note);
  const [tags, setTags] = useState(run.tags.join(", "));
  const read = parseTags(tags);
  const queries = useQueryClient();
  const toast = useToast();
  const save = useMutation({
    mutationFn: () => updateRun(run.id, { name, note, tags: read.ok ? read.value : run.tags }),
    onSuccess: (saved) => {
      queries.setQueryData(["run", run.id], saved);
      setTags(saved.tags.join(", "));
      void queries.invalidateQueries({ queryKey: ["run-facets"] });
      toast({ text: "Saved." });
    },
  });
  const changed = name !== run.name || note !== run.note || (read.ok && read.value.join(",") !== run.tags.join(","));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  return (
    <form className="card notes" onSubmit={submit}>
      <h2>Name, tags and note</h2>
      {save.isError && <ErrorNotice error={save.error} />}
      <label className="field">
        Name
        <input className="input" maxLength={200} value={name} onChange={(event) => setName(event.target.value)} />
      </label>
      <label className="field">
        Tags
        <input
          className="input"
          maxLength={700}
          placeholder="none; several behind commas"
          aria-invalid={!read.ok}
          value={tags}
          onChange={(event) => setTags(event.target.value)}
        />
      </label>
      {!read.ok && (
        <p className="field-problem" role="alert">
          {read.message}
        </p>
      )}
      <label className="field">
        Note
        <textarea
          className="input"
          rows={4}
          maxLength={5000}
          value={note}
          onChange={(event) => setNote(event.target.value)}
        />
      </label>
      <div>
        <Button type="submit" disabled={!changed || !read.ok} busy={save.isPending}>
          Save
        </Button>
      </div>
    </form>
  );
}
