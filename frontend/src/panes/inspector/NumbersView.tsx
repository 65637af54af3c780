import type { ReactNode } from "react";
import type { Mask, TileCounts } from "../../api/types";
import { formatBytes, formatInt, formatPercent, formatSignificant } from "../../domain/format";
import { cellProperties, type MaskPalette } from "../../domain/palette";
import { CopyButton } from "../../widgets/CopyButton";
import { SkeletonLines } from "../../widgets/Feedback";

interface NumbersViewProps {
  mask: Mask | null;
  stale: boolean;
  palette: MaskPalette;
}

export function NumbersView({ mask, stale, palette }: NumbersViewProps) {
  if (!mask) return <SkeletonLines lines={9} />;
  const numbers = mask.statistics;
  return (
    <div className={stale ? "numbers stale" : "numbers"}>
      <div className="headline">
        <div>
          <b data-testid="density">{formatSignificant(numbers.density)}</b>
          <span>density</span>
        </div>
        <div>
          <b>{formatPercent(numbers.tiles.fill)}</b>
          <span title="Visible pairs among the pairs that the kernel computes">tile fill</span>
        </div>
      </div>
      <dl>
        <Row name="Queries">{formatInt(numbers.q_len)}</Row>
        <Row name="Keys">{formatInt(numbers.kv_len)}</Row>
        <Row name="Visible pairs">
          <span data-testid="visible-pairs">{formatInt(numbers.visible_pairs)}</span>
        </Row>
        <Row name="Runs" title="Row ranges with one interval of keys whose ends are affine in q">
          {formatInt(numbers.runs)}
        </Row>
        <Row name="Runs per row">
          {formatSignificant(numbers.runs_per_row_mean)} <small>at most {formatInt(numbers.runs_per_row_max)}</small>
        </Row>
        <Row name="Pieces" title="Row ranges in which every row has the same number of intervals">
          {formatInt(numbers.pieces)}
        </Row>
        <Row name="Families" title="Runs that repeat at equal steps, counted once: the compact form">
          {formatInt(numbers.families)} <small>{formatBytes(numbers.compact_bytes)}</small>
        </Row>
        <Row name="Descriptor" title="Its arrays in memory">
          {formatBytes(numbers.descriptor_bytes)}
        </Row>
        <Row name="Empty rows" bad={numbers.empty_rows > 0}>
          {formatInt(numbers.empty_rows)}
          {numbers.first_empty_row !== null && <small> first is row {formatInt(numbers.first_empty_row)}</small>}
        </Row>
        <Row name="Unseen keys" bad={numbers.unseen_keys > 0}>
          {formatInt(numbers.unseen_keys)}
        </Row>
      </dl>
      <TileNumbers tiles={numbers.tiles} visible={numbers.visible_pairs} palette={palette} />
      <dl>
        <div className="row hash-row">
          <dt title="Of the visible cells: masks with the same cells have the same hash, however they are written">
            Hash
          </dt>
          <dd title={mask.hash}>
            {mask.hash.slice(0, 16)}
            <CopyButton label="Copy the whole hash" text={() => mask.hash} small iconOnly look="quiet" />
          </dd>
        </div>
      </dl>
    </div>
  );
}

function Row({ name, title, bad, children }: { name: string; title?: string; bad?: boolean; children: ReactNode }) {
  return (
    <div className={bad ? "row warned" : "row"}>
      <dt title={title}>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function TileNumbers({ tiles, visible, palette }: { tiles: TileCounts; visible: number; palette: MaskPalette }) {
  const total = Math.max(1, tiles.full + tiles.partial + tiles.empty);
  const parts = [
    { kind: "full", label: "Full", count: tiles.full },
    { kind: "partial-hatched", label: "Partial", count: tiles.partial },
    { kind: "hidden", label: "Empty", count: tiles.empty },
  ];
  return (
    <div className="tile-numbers" style={cellProperties(palette) as React.CSSProperties}>
      <h3>
        Tiles of {tiles.block_m} × {tiles.block_n}
      </h3>
      <div
        className="stacked"
        role="img"
        aria-label={parts.map((part) => `${part.label} ${formatPercent(part.count / total)}`).join(", ")}
      >
        {parts.map((part) => (
          <i key={part.kind} className={`swatch ${part.kind}`} style={{ width: `${(part.count / total) * 100}%` }} />
        ))}
      </div>
      <dl>
        {parts.map((part) => (
          <div className="row" key={part.kind}>
            <dt>
              <i className={`swatch ${part.kind}`} />
              {part.label}
            </dt>
            <dd>
              {formatInt(part.count)} <small>{formatPercent(part.count / total)}</small>
            </dd>
          </div>
        ))}
      </dl>
      <h3>The kernel visits</h3>
      <dl>
        <Row name="Tiles" title="Key tiles start where the runs start, so fewer are visited than the grid has">
          {formatInt(tiles.visited_full + tiles.visited_partial)}
        </Row>
        <Row name="Of these full">
          {formatInt(tiles.visited_full)}{" "}
          <small>{formatPercent(tiles.visited_full / Math.max(1, tiles.visited_full + tiles.visited_partial))}</small>
        </Row>
        <Row name="Pairs computed">{formatInt(tiles.processed_pairs)}</Row>
        <Row name="Of these visible">
          {formatPercent(tiles.fill)} <small>{formatInt(visible)}</small>
        </Row>
      </dl>
    </div>
  );
}
