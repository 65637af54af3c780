import { useState } from "react";
import { descriptorUrl } from "../../api/calls";
import type { Mask } from "../../api/types";
import type { Outline } from "../../domain/outline";
import { SkeletonLines } from "../../widgets/Feedback";
import { Icon } from "../../widgets/Icon";
import { Segmented } from "../../widgets/Segmented";
import { FamilyList } from "./FamilyList";
import type { Blocks, ChosenCell } from "./InspectorPane";
import { QTileList } from "./QTileList";
import { RunList } from "./RunList";

export interface LinkedViewProps {
  mask: Mask | null;
  stale: boolean;
  /** The cell that was chosen in the picture; the lists show what holds it. */
  chosen: ChosenCell | null;
  onOutline: (outline: Outline | null, go: boolean) => void;
  /** The server forgot this mask: compile again. */
  onForgotten: () => void;
}

const LISTS = [
  { id: "families", label: "Families" },
  { id: "runs", label: "Runs" },
  { id: "tiles", label: "Q tiles" },
] as const;

/** The trapezoids that make up the mask, or the tiles that kernels take it in; both are outlined in the picture. */
export function DescriptorView({ mask, stale, blocks, ...linked }: LinkedViewProps & { blocks: Blocks }) {
  const [asked, setAsked] = useState<"families" | "runs" | "tiles" | null>(null);
  if (!mask) return <SkeletonLines lines={9} />;
  const { runs, families } = mask.statistics;
  const list = asked ?? (2 * families < runs ? "families" : "runs");
  return (
    <div className={stale ? "descriptor stale" : "descriptor"}>
      <div className="descriptor-head">
        <Segmented label="List" options={LISTS} value={list} onChange={setAsked} />
        <a className="button small" href={descriptorUrl(mask.hash)} download>
          <Icon name="download" size={14} />
          JSON
        </a>
      </div>
      {list === "families" && <FamilyList key={mask.hash} mask={mask} {...linked} />}
      {list === "runs" && <RunList key={mask.hash} mask={mask} {...linked} />}
      {list === "tiles" && (
        <QTileList key={`${mask.hash} ${blocks.blockM} ${blocks.blockN}`} mask={mask} blocks={blocks} {...linked} />
      )}
    </div>
  );
}
