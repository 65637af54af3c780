import { type FormEvent, useState } from "react";
import { Link } from "wouter";
import type { RunAction } from "../../api/types";
import { plural } from "../../domain/format";
import { parseTags } from "../../domain/tags";
import { Button } from "../../widgets/Button";
import { Icon } from "../../widgets/Icon";

interface BulkBarProps {
  selected: readonly number[];
  archived: boolean;
  /** Tags to propose. */
  tags: readonly string[];
  busy: boolean;
  onChange: (action: RunAction, tag?: string) => void;
  onClear: () => void;
}

const MOST_COMPARED = 100;

/** What can be done with the runs that are ticked. */
export function BulkBar({ selected, archived, tags, busy, onChange, onClear }: BulkBarProps) {
  const [tagging, setTagging] = useState(false);
  return (
    <section className="bulk-bar" aria-label="Selected runs">
      <b>{plural(selected.length, "run")} selected</b>
      <CompareLink selected={selected} />
      {archived ? (
        <Button small icon="history" disabled={busy} onClick={() => onChange("restore")}>
          Restore
        </Button>
      ) : (
        <Button small icon="history" disabled={busy} onClick={() => onChange("archive")}>
          Archive
        </Button>
      )}
      <Button small aria-expanded={tagging} onClick={() => setTagging(!tagging)}>
        Tag
      </Button>
      <Button small icon="trash" danger disabled={busy} onClick={() => onChange("delete")}>
        Delete
      </Button>
      <Button small look="quiet" onClick={onClear}>
        Clear selection
      </Button>
      {tagging && <TagForm tags={tags} busy={busy} onChange={onChange} />}
    </section>
  );
}

function TagForm({ tags, busy, onChange }: Pick<BulkBarProps, "tags" | "busy" | "onChange">) {
  const [text, setText] = useState("");
  const read = parseTags(text);
  const [tag] = read.ok ? read.value : [];
  const ready = read.ok && read.value.length === 1 && !busy;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (ready) onChange("tag", tag);
  };
  return (
    <form className="tag-form" onSubmit={submit}>
      <input
        className="input"
        aria-label="Tag of these runs"
        placeholder="tag"
        list="known-tags"
        maxLength={40}
        aria-invalid={!read.ok}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <datalist id="known-tags">
        {tags.map((known) => (
          <option key={known} value={known} />
        ))}
      </datalist>
      <Button small type="submit" disabled={!ready}>
        Put on
      </Button>
      <Button small disabled={!ready} onClick={() => tag && onChange("untag", tag)}>
        Take off
      </Button>
      {!read.ok && (
        <span className="field-problem" role="alert">
          {read.message}
        </span>
      )}
    </form>
  );
}

function CompareLink({ selected }: { selected: readonly number[] }) {
  if (selected.length < 2 || selected.length > MOST_COMPARED) {
    return (
      <Button small icon="compare" disabled title={`Select 2 to ${MOST_COMPARED} runs`}>
        Compare
      </Button>
    );
  }
  return (
    <Link className="button primary small" href={`/compare?ids=${selected.join(",")}`}>
      <Icon name="compare" size={14} />
      Compare {selected.length}
    </Link>
  );
}
