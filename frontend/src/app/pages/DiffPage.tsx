import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { useLocation } from "wouter";
import { diffMasks, readLanguage } from "../../api/calls";
import type { SideName } from "../../domain/diffSides";
import { draftName } from "../../domain/drafts";
import type { ThemeName } from "../../domain/palette";
import { DiffPane } from "../../panes/diff/DiffPane";
import { SidePicker } from "../../panes/diff/SidePicker";
import { editorTheme } from "../../panes/editor/editorTheme";
import { regionLanguage } from "../../panes/editor/regionLanguage";
import { Button } from "../../widgets/Button";
import { CopyButton } from "../../widgets/CopyButton";
import { EmptyState, ErrorNotice, SkeletonLines } from "../../widgets/Feedback";
import { type Side, useDiffSides, useSide } from "../useDiffSides";
import type { OpenWorkspace } from "../useWorkspace";

/** Two masks beside each other; which ones stands in the address. */
export default function DiffPage({ theme, studio }: { theme: ThemeName; studio: OpenWorkspace }) {
  const { sides, fault, choose } = useDiffSides();
  const [picking, setPicking] = useState<SideName | null>(null);
  const [, navigate] = useLocation();
  const left = useSide(sides?.left ?? null);
  const right = useSide(sides?.right ?? null);
  const words = useQuery({
    queryKey: ["language"],
    queryFn: ({ signal }) => readLanguage(signal),
    staleTime: Infinity,
  });
  const extensions = useMemo(() => [editorTheme, regionLanguage(words.data ?? [])], [words.data]);
  const both = left.data && right.data ? { left: left.data.draft, right: right.data.draft } : null;
  const diff = useQuery({
    queryKey: ["diff", both],
    queryFn: ({ signal }) => (both ? diffMasks(both.left, both.right, signal) : null),
    enabled: both !== null,
    staleTime: Infinity,
  });
  const edit = (side: Side) => {
    studio.open(side.draft, side.saved ?? undefined);
    navigate("/");
  };
  const error = fault ? { message: fault } : (left.error ?? right.error ?? diff.error);
  const missing = sides !== null && (!sides.left || !sides.right);
  return (
    <div className="page diff-page">
      <header className="diff-head">
        <h1>Diff of two masks</h1>
        <SideBox name="left" side={left.data ?? null} onPick={setPicking} onEdit={edit} />
        <Button
          icon="swap"
          look="quiet"
          aria-label="Swap the sides"
          disabled={!sides}
          onClick={() => sides && void choose({ left: sides.right, right: sides.left })}
        />
        <SideBox name="right" side={right.data ?? null} onPick={setPicking} onEdit={edit} />
        <span className="copy-link">
          {both && (
            <CopyButton label="Copy link" icon="link" look="quiet" done="Link copied" text={() => location.href} />
          )}
        </span>
      </header>
      {error && <ErrorNotice error={error} onRetry={() => void diff.refetch()} />}
      {!error && missing && (
        <EmptyState
          icon="diff"
          title="Choose two masks"
          actions={(["left", "right"] as const)
            .filter((name) => !sides[name])
            .map((name, index) => (
              <Button key={name} look={index === 0 ? "primary" : "plain"} onClick={() => setPicking(name)}>
                Choose the {name} mask
              </Button>
            ))}
        >
          Drafts, saved masks, masks of the gallery and masks of runs can be compared: cell by cell, in numbers, and as
          texts.
        </EmptyState>
      )}
      {!error && !missing && !diff.data && <SkeletonLines lines={10} height={24} />}
      {both && diff.data && (
        <DiffPane
          left={both.left}
          right={both.right}
          diff={diff.data}
          theme={theme}
          extensions={extensions}
          onForgotten={() => void diff.refetch()}
        />
      )}
      {picking && sides && (
        <SidePicker
          side={picking}
          drafts={studio.drafts.tabs}
          onChoose={(ref) => {
            void choose({ ...sides, [picking]: ref });
            setPicking(null);
          }}
          onClose={() => setPicking(null)}
        />
      )}
    </div>
  );
}

interface SideBoxProps {
  name: SideName;
  side: Side | null;
  onPick: (name: SideName) => void;
  onEdit: (side: Side) => void;
}

function SideBox({ name, side, onPick, onEdit }: SideBoxProps) {
  const title = side && (side.title || draftName(side.draft.source));
  return (
    <div className="side-box">
      <button type="button" className="side-name" onClick={() => onPick(name)}>
        <span className="muted">{name === "left" ? "Left (before)" : "Right (after)"}</span>
        <b className="truncate">{title ?? "Choose a mask"}</b>
      </button>
      {side && (
        <Button small look="quiet" icon="pencil" aria-label={`Edit the ${name} mask`} onClick={() => onEdit(side)} />
      )}
    </div>
  );
}
