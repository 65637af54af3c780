import { useState } from "react";
import type { Word } from "../../api/types";
import { DocText } from "../../widgets/DocText";

/** Every word of the language with its documentation, searchable. */
export function WordList({ words }: { words: readonly Word[] }) {
  const [search, setSearch] = useState("");
  const sought = search.trim().toLowerCase();
  const found = words.filter(
    (word) => word.name.toLowerCase().includes(sought) || word.doc.toLowerCase().includes(sought),
  );
  return (
    <div className="word-list scroll">
      <input
        className="input"
        type="search"
        placeholder="Search the language"
        aria-label="Search the language"
        value={search}
        onChange={(event) => setSearch(event.target.value)}
      />
      <dl>
        {found.map((word) => (
          <div key={`${word.kind} ${word.name}`}>
            <dt>
              <code>{word.name}</code> <span className="muted">{word.kind}</span>
            </dt>
            <dd>
              <DocText text={word.doc} />
            </dd>
          </div>
        ))}
      </dl>
      {found.length === 0 && <p className="muted">No word matches “{search}”.</p>}
    </div>
  );
}
