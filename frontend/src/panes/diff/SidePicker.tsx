import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { listPresets, listSavedMasks } from "../../api/calls";
import type { SideRef } from "../../domain/diffSides";
import { type OpenDraft, tabName } from "../../domain/drafts";
import { formatAge } from "../../domain/format";
import { Dialog } from "../../widgets/Dialog";
import { ErrorNotice, SkeletonLines } from "../../widgets/Feedback";

interface SidePickerProps {
  side: string;
  drafts: readonly OpenDraft[];
  onChoose: (ref: SideRef) => void;
  onClose: () => void;
}

/** Every mask that can stand on one side: drafts, saved masks, presets, and the mask of a run. */
export function SidePicker({ side, drafts, onChoose, onClose }: SidePickerProps) {
  const [search, setSearch] = useState("");
  const sought = search.trim().toLowerCase();
  const presets = useQuery({
    queryKey: ["presets"],
    queryFn: ({ signal }) => listPresets(signal),
    staleTime: Infinity,
  });
  const saved = useQuery({
    queryKey: ["saved-masks", search.trim(), 0],
    queryFn: ({ signal }) => listSavedMasks(search.trim(), 0, signal),
  });
  const fits = (text: string) => text.toLowerCase().includes(sought);
  const run = search.trim().match(/^(?:run\s*)?#?(\d{1,15})$/i)?.[1];
  const field = (
    <input
      className="input"
      type="search"
      placeholder="Name, or number of a run"
      aria-label="Search masks"
      value={search}
      onChange={(event) => setSearch(event.target.value)}
    />
  );
  return (
    <Dialog title={`Mask on the ${side}`} onClose={onClose} head={field} tall>
      <div className="side-picker">
        {run && (
          <Group
            title="Runs"
            items={[{ key: run, label: `Mask of run ${run}`, ref: { kind: "run", id: Number(run) } }]}
            onChoose={onChoose}
          />
        )}
        <Group
          title="Drafts"
          items={drafts
            .filter((draft) => fits(tabName(draft)))
            .map((draft) => ({
              key: draft.id,
              label: tabName(draft),
              ref: { kind: "text", draft: { source: draft.source, values: draft.values } },
            }))}
          onChoose={onChoose}
        />
        <Group
          title="Saved masks"
          items={(saved.data?.items ?? []).map(({ id, name, latest, updated_at }) => ({
            key: String(id),
            label: name,
            note: `version ${latest.number}, ${formatAge(updated_at, Date.now())}`,
            ref: { kind: "saved", id, version: latest.number },
          }))}
          onChoose={onChoose}
        />
        {presets.isPending && <SkeletonLines lines={6} />}
        {presets.isError && <ErrorNotice error={presets.error} onRetry={() => presets.refetch()} />}
        <Group
          title="Gallery"
          items={(presets.data ?? [])
            .filter(({ name, title }) => fits(`${name} ${title}`))
            .map(({ name, title }) => ({ key: name, label: title, note: name, ref: { kind: "preset", name } }))}
          onChoose={onChoose}
        />
      </div>
    </Dialog>
  );
}

interface Item {
  key: string;
  label: string;
  note?: string;
  ref: SideRef;
}

function Group({
  title,
  items,
  onChoose,
}: {
  title: string;
  items: readonly Item[];
  onChoose: (ref: SideRef) => void;
}) {
  if (items.length === 0) return null;
  return (
    <section>
      <h3>{title}</h3>
      <ul>
        {items.map(({ key, label, note, ref }) => (
          <li key={key}>
            <button type="button" onClick={() => onChoose(ref)}>
              <span className="truncate">{label}</span>
              {note && <span className="muted">{note}</span>}
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
