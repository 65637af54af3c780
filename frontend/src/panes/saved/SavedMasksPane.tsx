import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useState } from "react";
import { Link } from "wouter";
import { deleteSavedMask, listSavedMasks, readSavedMask, renameSavedMask, restoreSavedMask } from "../../api/calls";
import type { SavedMaskRow, VersionSummary } from "../../api/types";
import { formatAge, formatInt, plural } from "../../domain/format";
import { Button } from "../../widgets/Button";
import { EmptyState, ErrorNotice, SkeletonBoxes, SkeletonLines } from "../../widgets/Feedback";
import { Icon } from "../../widgets/Icon";
import { useToast } from "../../widgets/Toasts";

const PAGE = 50;

interface SavedMasksPaneProps {
  search: string;
  onSearch: (text: string) => void;
  thumbnail: (version: VersionSummary) => ReactNode;
  now: number;
}

/** Masks with names: found, renamed, put away, and each with its versions. */
export function SavedMasksPane({ search, onSearch, thumbnail, now }: SavedMasksPaneProps) {
  const [limit, setLimit] = useState(1);
  const pages = Array.from({ length: limit }, (_, page) => page * PAGE);
  const masks = useQuery({
    queryKey: ["saved-masks", search.trim(), pages],
    queryFn: ({ signal }) => Promise.all(pages.map((offset) => listSavedMasks(search.trim(), offset, signal))),
    placeholderData: (before) => before,
  });
  const items = masks.data?.flatMap((page) => page.items);
  const total = masks.data?.[0]?.total ?? 0;
  return (
    <>
      <div className="saved-head">
        <h1>Saved masks</h1>
        <input
          className="input"
          type="search"
          placeholder="Search names, notes and texts"
          aria-label="Search saved masks"
          value={search}
          onChange={(event) => onSearch(event.target.value)}
        />
        <Link href="/diff" className="button">
          <Icon name="diff" size={14} />
          Diff of two masks
        </Link>
      </div>
      {masks.isPending && <SkeletonBoxes boxes={6} className="saved-list" />}
      {masks.isError && <ErrorNotice error={masks.error} onRetry={() => masks.refetch()} />}
      {items?.length === 0 &&
        (search.trim() ? <NoMatch search={search.trim()} onClear={() => onSearch("")} /> : <Nothing />)}
      {items && items.length > 0 && (
        <ul className="saved-list">
          {items.map((mask) => (
            <SavedCard key={mask.id} mask={mask} thumbnail={thumbnail} now={now} />
          ))}
        </ul>
      )}
      {items && items.length < total && (
        <Button busy={masks.isFetching} onClick={() => setLimit(limit + 1)}>
          Show more ({formatInt(total - items.length)})
        </Button>
      )}
    </>
  );
}

function NoMatch({ search, onClear }: { search: string; onClear: () => void }) {
  return (
    <EmptyState
      icon="search"
      title={`No saved mask matches “${search}”`}
      actions={<Button onClick={onClear}>Show all masks</Button>}
    >
      Names, notes and texts were searched.
    </EmptyState>
  );
}

function Nothing() {
  return (
    <EmptyState
      icon="save"
      title="No saved masks yet"
      actions={
        <Link href="/" className="button primary">
          Open the editor
        </Link>
      }
    >
      Save in the editor (Ctrl+S) gives a mask a name and a version here, and an address of its own.
    </EmptyState>
  );
}

interface SavedCardProps {
  mask: SavedMaskRow;
  thumbnail: (version: VersionSummary) => ReactNode;
  now: number;
}

function SavedCard({ mask, thumbnail, now }: SavedCardProps) {
  const [renaming, setRenaming] = useState(false);
  const [versions, setVersions] = useState(false);
  const [gone, setGone] = useState(false);
  const queries = useQueryClient();
  const toast = useToast();
  const { id, name, latest } = mask;
  const again = () => queries.invalidateQueries({ queryKey: ["saved-masks"] });
  const bringBack = useMutation({
    mutationFn: () => restoreSavedMask(id),
    onSettled: again,
    onSuccess: () => setGone(false),
    onError: (error) => toast({ text: error.message }),
  });
  const remove = useMutation({
    mutationFn: () => deleteSavedMask(id),
    onMutate: () => setGone(true),
    onSuccess: () =>
      toast({ text: `Deleted “${name}”.`, ms: 10_000, action: { label: "Undo", run: () => bringBack.mutate() } }),
    onError: (error) => {
      setGone(false);
      toast({ text: error.message });
    },
    onSettled: again,
  });
  if (gone) return null;
  return (
    <li className="saved-card">
      <Link href={`/masks/${id}`} className="saved-picture" tabIndex={-1} aria-hidden="true">
        {thumbnail(latest)}
      </Link>
      <div className="saved-about">
        {renaming ? (
          <Rename id={id} name={name} onDone={() => setRenaming(false)} />
        ) : (
          <Link href={`/masks/${id}`} className="saved-name truncate" title={name}>
            {name}
          </Link>
        )}
        <p className="muted">
          {sizeText(latest)} · {plural(mask.versions, "version")} · changed {formatAge(mask.updated_at, now)}
        </p>
        {latest.note && <p className="saved-note">{latest.note}</p>}
        <div className="saved-actions">
          <Button small look="quiet" aria-expanded={versions} onClick={() => setVersions(!versions)}>
            Versions
          </Button>
          <Button small look="quiet" onClick={() => setRenaming(true)}>
            Rename
          </Button>
          <Button small look="quiet" icon="trash" aria-label={`Delete ${name}`} onClick={() => remove.mutate()} />
        </div>
        {versions && <Versions id={id} now={now} />}
      </div>
    </li>
  );
}

function sizeText({ q_len, kv_len }: VersionSummary): string {
  return q_len === null || kv_len === null ? "does not compile" : `${formatInt(q_len)} × ${formatInt(kv_len)}`;
}

function Rename({ id, name, onDone }: { id: number; name: string; onDone: () => void }) {
  const [text, setText] = useState(name);
  const queries = useQueryClient();
  const rename = useMutation({
    mutationFn: () => renameSavedMask(id, text),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ["saved-masks"] });
      onDone();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    rename.mutate();
  };
  return (
    <form className="rename" onSubmit={submit}>
      <input
        className="input"
        aria-label={`New name of ${name}`}
        maxLength={200}
        // biome-ignore lint/a11y/noAutofocus: the field appears because somebody asked for it
        autoFocus
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => event.key === "Escape" && onDone()}
      />
      <Button small look="primary" type="submit" busy={rename.isPending} disabled={text.trim() === ""}>
        Rename
      </Button>
      <Button small onClick={onDone}>
        Cancel
      </Button>
      {rename.isError && <ErrorNotice error={rename.error} />}
    </form>
  );
}

/** Every version, the newest first, with what came before it one click away. */
function Versions({ id, now }: { id: number; now: number }) {
  const mask = useQuery({ queryKey: ["saved-masks", "one", id], queryFn: ({ signal }) => readSavedMask(id, signal) });
  if (mask.isPending) return <SkeletonLines lines={2} />;
  if (mask.isError) return <ErrorNotice error={mask.error} onRetry={() => mask.refetch()} />;
  return (
    <ol className="versions">
      {mask.data.versions.map((version) => (
        <li key={version.number}>
          <Link href={`/masks/${id}/versions/${version.number}`}>Version {version.number}</Link>
          <span className="muted version-facts">
            {formatAge(version.created_at, now)} · {sizeText(version)}
            {version.visible_pairs !== null && ` · ${formatInt(version.visible_pairs)} pairs`}
          </span>
          {version.number > 1 && (
            <Link href={`/diff?left=saved:${id}@${version.number - 1}&right=saved:${id}@${version.number}`}>
              What changed
            </Link>
          )}
          {version.note && <span className="saved-note">{version.note}</span>}
        </li>
      ))}
    </ol>
  );
}
