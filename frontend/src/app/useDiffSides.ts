import { useQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useState } from "react";
import { useLocation, useSearch } from "wouter";
import { listPresets, readMaskVersion, readRun, readSavedMask } from "../api/calls";
import { diffAddress, readSides, refText, type SideName, type SideRef, type Sides } from "../domain/diffSides";
import type { Draft, SavedRef } from "../domain/drafts";

export interface Side {
  title: string;
  draft: Draft;
  saved: SavedRef | null;
}

/** The sides that the address names; a choice shows at once and the address follows. */
export function useDiffSides() {
  const [, navigate] = useLocation();
  const search = useSearch();
  const [sides, setSides] = useState<Sides | null>(null);
  const [fault, setFault] = useState<string | null>(null);

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new search means a new address
  useEffect(() => {
    const follow = () => {
      readSides(location.search, location.hash).then(
        (read) => {
          setFault(null);
          setSides((now) => (now && JSON.stringify(now) === JSON.stringify(read) ? now : read));
        },
        (error: Error) => {
          setFault(error.message);
          setSides({ left: null, right: null });
        },
      );
    };
    follow();
    window.addEventListener("hashchange", follow);
    return () => window.removeEventListener("hashchange", follow);
  }, [search]);

  const choose = useCallback(
    async (next: Sides) => {
      setSides(next);
      setFault(null);
      navigate(await diffAddress(next), { replace: true });
    },
    [navigate],
  );
  return { sides, fault, choose };
}

/** The text of a side, read from where it is kept. */
export function useSide(ref: SideRef | null) {
  return useQuery({
    queryKey: ["side", ref && refText(ref), ref?.kind === "text" ? ref.draft : null],
    queryFn: ({ signal }) => (ref ? readSide(ref, signal) : null),
    staleTime: Infinity,
    enabled: ref !== null,
  });
}

async function readSide(ref: SideRef, signal: AbortSignal): Promise<Side> {
  switch (ref.kind) {
    case "text":
      return { title: "", draft: ref.draft, saved: null };
    case "preset": {
      const preset = (await listPresets(signal)).find(({ name }) => name === ref.name);
      if (!preset) throw new Error(`The gallery has no mask “${ref.name}”.`);
      return { title: preset.title, draft: { source: preset.source, values: preset.values }, saved: null };
    }
    case "saved": {
      const number = ref.version ?? (await readSavedMask(ref.id, signal)).versions[0]?.number ?? 1;
      const { name, source, values } = await readMaskVersion(ref.id, number, signal);
      return {
        title: `${name}, version ${number}`,
        draft: { source, values },
        saved: { id: ref.id, version: number, name },
      };
    }
    case "run": {
      const { source, values, name } = await readRun(ref.id, signal);
      return { title: `Run ${ref.id}: ${name}`, draft: { source, values }, saved: null };
    }
  }
}

export function otherSide(name: SideName): SideName {
  return name === "left" ? "right" : "left";
}
