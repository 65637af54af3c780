import { useEffect, useMemo, useState } from "react";
import { isLook, type Look, type MaskPalette, paletteOf, type ThemeName } from "../../domain/palette";

const KEY = "compilemask.mask-look";

/** How masks are drawn, for this person and this browser. */
export interface MaskLook {
  look: Look;
  setLook: (look: Look) => void;
  /** Lines and dots beside the colours. */
  patterns: boolean;
  setPatterns: (patterns: boolean) => void;
  /** The small picture of the whole mask, while a part of it is in view. */
  minimap: boolean;
  setMinimap: (minimap: boolean) => void;
  palette: MaskPalette;
}

export function useMaskLook(theme: ThemeName): MaskLook {
  const [chosen, setChosen] = useState(readLook);
  useEffect(() => {
    try {
      localStorage.setItem(KEY, JSON.stringify(chosen));
    } catch {
      // Then it is not remembered.
    }
  }, [chosen]);
  return useMemo(
    () => ({
      ...chosen,
      setLook: (look) => setChosen((now) => ({ ...now, look })),
      setPatterns: (patterns) => setChosen((now) => ({ ...now, patterns })),
      setMinimap: (minimap) => setChosen((now) => ({ ...now, minimap })),
      palette: paletteOf(theme, chosen.look),
    }),
    [chosen, theme],
  );
}

function readLook(): { look: Look; patterns: boolean; minimap: boolean } {
  let stored: { look?: string; patterns?: boolean; minimap?: boolean } = {};
  try {
    stored = JSON.parse(localStorage.getItem(KEY) ?? "{}") ?? {};
  } catch {
    // What cannot be read was not chosen.
  }
  const look = stored.look ?? null;
  return {
    look: isLook(look) ? look : "classic",
    patterns: stored.patterns === true,
    minimap: stored.minimap !== false,
  };
}
