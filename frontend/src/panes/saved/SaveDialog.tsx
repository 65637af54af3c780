import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useId, useState } from "react";
import { createMaskVersion, createSavedMask } from "../../api/calls";
import { type Draft, draftName, type SavedRef } from "../../domain/drafts";
import { Button } from "../../widgets/Button";
import { Dialog } from "../../widgets/Dialog";
import { ErrorNotice } from "../../widgets/Feedback";

interface SaveDialogProps {
  draft: Draft;
  /** The saved mask that the draft comes from. */
  from: SavedRef | null;
  onSaved: (draft: Draft, saved: SavedRef) => void;
  onClose: () => void;
}

/** Saves a draft as the next version of its mask, or under a name of its own. */
export function SaveDialog({ draft, from, onSaved, onClose }: SaveDialogProps) {
  const [asNew, setAsNew] = useState(from === null);
  const [name, setName] = useState(from ? `${from.name} (copy)` : draftName(draft.source));
  const [note, setNote] = useState("");
  const ids = { form: useId(), name: useId(), note: useId() };
  const save = useMutation({
    mutationFn: () => (asNew || !from ? createSavedMask(name, draft, note) : createMaskVersion(from.id, draft, note)),
    onSuccess: (mask) => onSaved(draft, { id: mask.id, version: mask.versions[0]?.number ?? 1, name: mask.name }),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  const foot = (
    <>
      <span className="grow">A text that does not compile can be saved, too.</span>
      <Button onClick={onClose}>Cancel</Button>
      <Button look="primary" type="submit" form={ids.form} busy={save.isPending} disabled={asNew && name.trim() === ""}>
        Save
      </Button>
    </>
  );
  return (
    <Dialog title="Save mask" onClose={onClose} foot={foot}>
      <form id={ids.form} className="save-form" onSubmit={submit}>
        {from && (
          <fieldset>
            <legend className="visually-hidden">Where</legend>
            <label>
              <input type="radio" name="where" checked={!asNew} onChange={() => setAsNew(false)} />
              Next version of <b>{from.name}</b>
            </label>
            <label>
              <input type="radio" name="where" checked={asNew} onChange={() => setAsNew(true)} />A new mask
            </label>
          </fieldset>
        )}
        {asNew && (
          <>
            <label htmlFor={ids.name}>Name</label>
            <input
              id={ids.name}
              className="input"
              maxLength={200}
              value={name}
              autoComplete="off"
              onChange={(event) => setName(event.target.value)}
            />
          </>
        )}
        <label htmlFor={ids.note}>Note (what is it for, what changed)</label>
        <textarea
          id={ids.note}
          className="input"
          rows={3}
          maxLength={2000}
          value={note}
          onChange={(event) => setNote(event.target.value)}
        />
        {save.isError && <ErrorNotice error={save.error} />}
      </form>
    </Dialog>
  );
}
