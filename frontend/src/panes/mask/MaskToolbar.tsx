import type { BatchPlace, BlockSize } from "../../api/types";
import { BLOCKS, type Layer } from "../../domain/maskQuery";
import { Button } from "../../widgets/Button";
import { Segmented } from "../../widgets/Segmented";
import { BatchPicker } from "./BatchPicker";
import type { MaskLook } from "./useMaskLook";
import { ViewMenu } from "./ViewMenu";

const LAYERS: readonly { id: Layer; label: string }[] = [
  { id: "density", label: "Density" },
  { id: "rules", label: "Rules" },
  { id: "kernel", label: "Kernel tiles" },
  { id: "tiles", label: "Q tiles" },
];

export interface Blocks {
  blockM: BlockSize;
  blockN: BlockSize;
}

interface MaskToolbarProps {
  layer: Layer;
  onLayer: (layer: Layer) => void;
  blocks: Blocks;
  /** Whether the size of the mask chose the blocks, and nobody else. */
  automatic: boolean;
  onBlocks: (blocks: Blocks | null) => void;
  batch: BatchPlace | null;
  onPlace: (item: number, head: number) => void;
  look: MaskLook;
  zoom: { scale: number; whole: boolean };
  onZoom: (factor: number) => void;
  onFit: () => void;
}

export function MaskToolbar(props: MaskToolbarProps) {
  const { layer, onLayer, batch, onPlace, look, zoom, onZoom, onFit } = props;
  return (
    <div className="mask-toolbar">
      <Segmented label="Layer" options={LAYERS} value={layer} onChange={onLayer} />
      <BlockPicker {...props} />
      {batch && <BatchPicker batch={batch} onPlace={onPlace} />}
      <span className="grow" />
      <ViewMenu look={look} />
      <div className="zoom-controls">
        <Button
          small
          look="quiet"
          icon="minus"
          aria-label="Zoom out"
          onClick={() => onZoom(0.5)}
          disabled={zoom.whole}
        />
        <output className="zoom-text" title="Pixels per cell">
          {zoomText(zoom.scale)}
        </output>
        <Button small look="quiet" icon="plus" aria-label="Zoom in" onClick={() => onZoom(2)} />
        <Button small look="quiet" icon="fit" aria-label="Fit the whole mask" onClick={onFit} />
      </div>
    </div>
  );
}

export function zoomText(scale: number): string {
  if (scale >= 1) return `${scale < 10 ? scale.toFixed(1) : Math.round(scale)} px / cell`;
  const cells = 1 / scale;
  return `${cells < 10 ? cells.toFixed(1) : Math.round(cells)} cells / px`;
}

function BlockPicker({ blocks, automatic, onBlocks }: Pick<MaskToolbarProps, "blocks" | "automatic" | "onBlocks">) {
  const { blockM, blockN } = blocks;
  const options = BLOCKS.map((size) => (
    <option key={size} value={size}>
      {size}
    </option>
  ));
  return (
    <fieldset className="block-picker">
      <legend className="visually-hidden">Kernel tile size</legend>
      <span aria-hidden="true">Tile</span>
      <select
        aria-label="BLOCK_M, rows of a kernel tile"
        value={blockM}
        onChange={(event) => onBlocks({ blockM: Number(event.target.value) as BlockSize, blockN })}
      >
        {options}
      </select>
      <span aria-hidden="true">×</span>
      <select
        aria-label="BLOCK_N, keys of a kernel tile"
        value={blockN}
        onChange={(event) => onBlocks({ blockM, blockN: Number(event.target.value) as BlockSize })}
      >
        {options}
      </select>
      {!automatic && (
        <Button
          small
          look="quiet"
          icon="refresh"
          aria-label="Tile size by the size of the mask"
          onClick={() => onBlocks(null)}
        />
      )}
    </fieldset>
  );
}
