import { useEffect, useState } from "react";
import { useLocation, useSearch } from "wouter";
import type { ThemeName } from "../../domain/palette";
import { Thumbnail } from "../../panes/gallery/Thumbnail";
import { SavedMasksPane } from "../../panes/saved/SavedMasksPane";

/** The masks of the database; what is searched stands in the address, and shows at once. */
export default function MasksPage({ theme }: { theme: ThemeName }) {
  const [, navigate] = useLocation();
  const asked = new URLSearchParams(useSearch()).get("q") ?? "";
  const [text, setText] = useState(asked);
  // The back button, or a link, is another search.
  useEffect(() => setText((now) => (now.trim() === asked ? now : asked)), [asked]);
  const search = (next: string) => {
    setText(next);
    navigate(next.trim() ? `/masks?q=${encodeURIComponent(next.trim())}` : "/masks", { replace: true });
  };
  return (
    <div className="page saved-page">
      <SavedMasksPane
        search={text}
        onSearch={search}
        now={Date.now()}
        thumbnail={({ hash, q_len, kv_len }) =>
          hash !== null && q_len !== null && kv_len !== null ? (
            <Thumbnail of={{ hash, q_len, kv_len, text: null }} theme={theme} />
          ) : (
            <span className="thumbnail none" />
          )
        }
      />
    </div>
  );
}
