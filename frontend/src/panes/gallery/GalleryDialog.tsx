import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { listPresets } from "../../api/calls";
import type { Preset } from "../../api/types";
import { firstSentence } from "../../domain/docText";
import { formatInt } from "../../domain/format";
import type { ThemeName } from "../../domain/palette";
import { Dialog } from "../../widgets/Dialog";
import { ErrorNotice, SkeletonLines } from "../../widgets/Feedback";
import { Thumbnail } from "./Thumbnail";

interface GalleryDialogProps {
  theme: ThemeName;
  onOpen: (preset: Preset) => void;
  onClose: () => void;
}

/** The masks that come with the studio. */
export function GalleryDialog({ theme, onOpen, onClose }: GalleryDialogProps) {
  const [search, setSearch] = useState("");
  const presets = useQuery({
    queryKey: ["presets"],
    queryFn: ({ signal }) => listPresets(signal),
    staleTime: Infinity,
  });
  const sought = search.trim().toLowerCase();
  const found = presets.data?.filter((preset) =>
    `${preset.name} ${preset.title} ${preset.doc}`.toLowerCase().includes(sought),
  );
  const searchField = (
    <input
      className="input"
      type="search"
      placeholder="Search"
      aria-label="Search the gallery"
      value={search}
      onChange={(event) => setSearch(event.target.value)}
    />
  );
  return (
    <Dialog title="Gallery" wide onClose={onClose} head={searchField}>
      {presets.isPending && <SkeletonLines lines={8} height={40} />}
      {presets.isError && <ErrorNotice error={presets.error} onRetry={() => presets.refetch()} />}
      {found && (
        <ul className="gallery">
          {found.map((preset) => (
            <li key={preset.name}>
              <button type="button" className="gallery-card" data-preset={preset.name} onClick={() => onOpen(preset)}>
                <Thumbnail preset={preset} theme={theme} />
                <span className="gallery-title">{preset.title}</span>
                <span className="gallery-doc">{firstSentence(preset.doc)}</span>
                <span className="gallery-size">
                  {formatInt(preset.q_len)} × {formatInt(preset.kv_len)}
                </span>
              </button>
            </li>
          ))}
        </ul>
      )}
      {found?.length === 0 && <p className="muted">No mask matches “{search}”.</p>}
    </Dialog>
  );
}
