import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { listPresets } from "../../api/calls";
import type { Preset } from "../../api/types";
import { firstSentence } from "../../domain/docText";
import { byFamily } from "../../domain/families";
import { formatInt, plural } from "../../domain/format";
import type { ThemeName } from "../../domain/palette";
import { Button } from "../../widgets/Button";
import { Dialog } from "../../widgets/Dialog";
import { DocText } from "../../widgets/DocText";
import { EmptyState, ErrorNotice, SkeletonBoxes } from "../../widgets/Feedback";
import { ScrollArea } from "../../widgets/ScrollArea";
import { Thumbnail } from "./Thumbnail";

interface GalleryDialogProps {
  theme: ThemeName;
  onOpen: (preset: Preset) => void;
  onClose: () => void;
}

/** The masks that come with the studio, by what they are for, each with its documentation. */
export function GalleryDialog({ theme, onOpen, onClose }: GalleryDialogProps) {
  const [search, setSearch] = useState("");
  const [about, setAbout] = useState<string | null>(null);
  const presets = useQuery({
    queryKey: ["presets"],
    queryFn: ({ signal }) => listPresets(signal),
    staleTime: Infinity,
  });
  const sought = search.trim().toLowerCase();
  const found = presets.data?.filter((preset) =>
    `${preset.name} ${preset.title} ${preset.doc} ${preset.family}`.toLowerCase().includes(sought),
  );
  const searchField = (
    <input
      className="input"
      type="search"
      placeholder={found ? `Search ${plural(presets.data?.length ?? 0, "mask")}` : "Search"}
      aria-label="Search the gallery"
      value={search}
      onChange={(event) => setSearch(event.target.value)}
    />
  );
  return (
    <Dialog title="Gallery" wide tall onClose={onClose} head={searchField}>
      {presets.isPending && <SkeletonBoxes boxes={15} className="gallery" />}
      {presets.isError && <ErrorNotice error={presets.error} onRetry={() => presets.refetch()} />}
      {found &&
        byFamily(found).map(({ family, presets: members }) => (
          <section key={family} className="gallery-family">
            <h3>
              {family} <small>{members.length}</small>
            </h3>
            <ul className="gallery">
              {members.map((preset) => (
                <Card
                  key={preset.name}
                  preset={preset}
                  theme={theme}
                  about={about === preset.name}
                  onOpen={onOpen}
                  onAbout={() => setAbout(about === preset.name ? null : preset.name)}
                />
              ))}
            </ul>
          </section>
        ))}
      {found?.length === 0 && (
        <EmptyState
          icon="search"
          title={`No mask matches “${search.trim()}”`}
          actions={<Button onClick={() => setSearch("")}>Show all masks</Button>}
        />
      )}
    </Dialog>
  );
}

interface CardProps {
  preset: Preset;
  theme: ThemeName;
  /** Its whole documentation is shown. */
  about: boolean;
  onOpen: (preset: Preset) => void;
  onAbout: () => void;
}

function Card({ preset, theme, about, onOpen, onAbout }: CardProps) {
  const { name, title, doc, source, values, hash, q_len, kv_len } = preset;
  return (
    <li className={about ? "about" : undefined}>
      <button type="button" className="gallery-card" data-preset={name} onClick={() => onOpen(preset)}>
        <Thumbnail of={{ hash, q_len, kv_len, text: { source, values } }} theme={theme} />
        <span className="gallery-title">{title}</span>
        <span className="gallery-doc">{firstSentence(doc)}</span>
        <span className="gallery-size">
          {name} · {formatInt(q_len)} × {formatInt(kv_len)}
        </span>
      </button>
      <span className="gallery-about">
        <Button small look="quiet" icon="info" aria-label={`About ${title}`} aria-expanded={about} onClick={onAbout} />
      </span>
      {about && (
        <div className="gallery-text">
          <DocText text={doc} />
          <ScrollArea className="gallery-rules" label={`Text of ${title}`}>
            <pre>{rules(source)}</pre>
          </ScrollArea>
          <Button small look="primary" onClick={() => onOpen(preset)}>
            Open in a tab
          </Button>
        </div>
      )}
    </li>
  );
}

/** The text without the comment at its head, which is shown as documentation. */
function rules(source: string): string {
  return source.replace(/^(?:\s*#.*\n)+/, "").trim();
}
