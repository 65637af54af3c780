import { useState } from "react";
import { Link } from "wouter";
import { readCost, readFormats } from "../../api/maskCalls";
import type { BlockSize, FormatSizes, Mask, MaskCost } from "../../api/types";
import { formatBytes, formatInt, formatMs, formatPercent } from "../../domain/format";
import type { Layer } from "../../domain/maskQuery";
import { Button } from "../../widgets/Button";
import { ErrorNotice, SkeletonLines } from "../../widgets/Feedback";
import { Icon } from "../../widgets/Icon";
import { NumberStepper } from "../../widgets/NumberStepper";
import type { Blocks, Trial } from "./InspectorPane";
import { isForgotten, useMaskAnswer } from "./useMaskAnswer";

interface CostViewProps {
  mask: Mask | null;
  stale: boolean;
  blocks: Blocks;
  layer: Layer;
  onTry: (trial: Trial) => void;
  onForgotten: () => void;
}

/** What the mask costs and what would make it cheaper. */
export function CostView({ mask, ...rest }: CostViewProps) {
  if (!mask) return <SkeletonLines lines={9} />;
  return <Cost mask={mask} {...rest} />;
}

function Cost({ mask, stale, blocks, layer, onTry, onForgotten }: CostViewProps & { mask: Mask }) {
  const [shape, setShape] = useState({ numHeads: 16, headDim: 128 });
  const { blockM, blockN } = blocks;
  const { numHeads, headDim } = shape;
  const answer = useMaskAnswer(mask, ["cost", blockM, blockN, numHeads, headDim], (signal) =>
    readCost(mask.hash, blocks, shape, signal),
  );
  if (answer.isPending) return <SkeletonLines lines={12} />;
  if (answer.isError)
    return (
      <ErrorNotice
        error={answer.error}
        onRetry={() => (isForgotten(answer.error) ? onForgotten() : answer.refetch())}
      />
    );
  const cost = answer.data;
  const waiting = stale || answer.isPlaceholderData;
  return (
    <div className={waiting ? "cost stale" : "cost"} aria-busy={answer.isPlaceholderData}>
      <div className="headline">
        <div>
          <b>{formatPercent(cost.fill)}</b>
          <span title="Visible pairs among the pairs that the kernel computes">tile fill</span>
        </div>
        <Prediction kernels={cost.kernels} />
      </div>
      <AdviceList advice={cost.advice} layer={layer} onTry={onTry} />
      <Pairs cost={cost} />
      <section aria-label="Time">
        <h3>
          Time <small>forward, bf16 and fp16</small>
        </h3>
        <div className="cost-shape">
          <label htmlFor="cost-heads">Heads</label>
          <NumberStepper
            id="cost-heads"
            label="Heads"
            value={numHeads}
            min={1}
            max={4096}
            onChange={(heads) => setShape({ ...shape, numHeads: heads })}
          />
          <label htmlFor="cost-dim">head_dim</label>
          <NumberStepper
            id="cost-dim"
            label="head_dim"
            value={headDim}
            min={16}
            max={1024}
            onChange={(dim) => setShape({ ...shape, headDim: dim })}
          />
        </div>
        <Kernels kernels={cost.kernels} />
      </section>
      <section aria-label="Tilings">
        <h3>
          Tilings{" "}
          <small>
            {blockM} × {blockN}, Triton
          </small>
        </h3>
        <Tilings cost={cost} />
      </section>
      <OtherBlocks cost={cost} onTry={onTry} />
      <Measured cost={cost} />
      <Formats mask={mask} blocks={blocks} />
    </div>
  );
}

function AdviceList({
  advice,
  layer,
  onTry,
}: { advice: MaskCost["advice"]; layer: Layer } & Pick<CostViewProps, "onTry">) {
  return (
    <ul className="advice" aria-label="Advice">
      {advice.map((one) => (
        <li key={one.title}>
          <b>
            <Icon name="info" size={14} />
            {one.title}
          </b>
          <p>{one.text}</p>
          {one.block_m && one.block_n ? (
            <Button small onClick={() => onTry({ blockM: one.block_m as BlockSize, blockN: one.block_n as BlockSize })}>
              Try {one.block_m} × {one.block_n}
            </Button>
          ) : null}
          {one.show_tiles && layer !== "tiles" && (
            <Button small onClick={() => onTry({ layer: "tiles" })}>
              Show the q tiles
            </Button>
          )}
        </li>
      ))}
    </ul>
  );
}

function Pairs({ cost }: { cost: MaskCost }) {
  return (
    <section aria-label="Pairs">
      <h3>Pairs</h3>
      <Bar share={cost.fill} label={`${formatPercent(cost.fill)} of the processed pairs are visible`} />
      <dl className="cost-numbers">
        <Row name="Visible">{formatInt(cost.visible_pairs)}</Row>
        <Row name="Processed">{formatInt(cost.processed_pairs)}</Row>
      </dl>
    </section>
  );
}

/** What `auto` would take; nothing where no kernel has costs for this head_dim. */
function Prediction({ kernels }: Pick<MaskCost, "kernels">) {
  const auto = kernels.find((one) => one.auto);
  if (!auto || auto.predicted_ms === null) return null;
  return (
    <div>
      <b>{formatMs(auto.predicted_ms)}</b>
      <span title={`By the costs of ${auto.impl} on an ${auto.chip}, fitted on ${auto.fitted} to ${auto.source}`}>
        predicted, {auto.impl} on {auto.chip}
      </span>
    </div>
  );
}

function Kernels({ kernels }: Pick<MaskCost, "kernels">) {
  const slowest = Math.max(...kernels.map((one) => one.predicted_ms ?? 0));
  return (
    <ul className="bars">
      {kernels.map((one) => (
        <li key={`${one.impl} ${one.chip}`} className={one.auto ? "chosen" : undefined} title={one.reason}>
          <span>
            {one.impl} on {one.chip}
            {one.auto && <em> what auto takes</em>}
          </span>
          {one.predicted_ms === null ? (
            <small>No prediction: {one.reason}</small>
          ) : (
            <>
              <Bar
                share={slowest ? one.predicted_ms / slowest : 0}
                label={`${formatMs(one.predicted_ms)} predicted`}
                quiet={!one.auto}
              />
              <small>
                {formatMs(one.predicted_ms)} · {one.tiling}
              </small>
              <small>
                costs of {one.fitted}, {one.source}
              </small>
            </>
          )}
        </li>
      ))}
    </ul>
  );
}

function Tilings({ cost }: { cost: MaskCost }) {
  const slowest = Math.max(...cost.candidates.map((one) => one.predicted_ms));
  return (
    <ul className="bars">
      {cost.candidates.map((one) => (
        <li key={one.title} className={one.chosen ? "chosen" : undefined}>
          <span>
            {one.title}
            {one.chosen && <em> chosen</em>}
          </span>
          <Bar
            share={slowest ? one.predicted_ms / slowest : 0}
            label={`${formatMs(one.predicted_ms)} predicted`}
            quiet={!one.chosen}
          />
          <small>
            {formatMs(one.predicted_ms)} · {formatInt(one.keys_per_query)} keys a query
          </small>
        </li>
      ))}
    </ul>
  );
}

function OtherBlocks({ cost, onTry }: { cost: MaskCost } & Pick<CostViewProps, "onTry">) {
  const best = Math.min(...cost.blocks.map((one) => one.predicted_ms));
  return (
    <section aria-label="Tile sizes">
      <h3>Tile sizes</h3>
      <table className="cost-table">
        <thead>
          <tr>
            <th scope="col">Tile</th>
            <th scope="col" className="numeric">
              Fill
            </th>
            <th scope="col" className="numeric">
              Predicted
            </th>
          </tr>
        </thead>
        <tbody>
          {cost.blocks.map((one) => {
            const now = one.block_m === cost.block_m && one.block_n === cost.block_n;
            return (
              <tr key={`${one.block_m} ${one.block_n}`} className={now ? "selected" : undefined}>
                <td>
                  <button
                    type="button"
                    aria-pressed={now}
                    onClick={() => onTry({ blockM: one.block_m as BlockSize, blockN: one.block_n as BlockSize })}
                  >
                    {one.block_m} × {one.block_n}
                  </button>
                </td>
                <td className="numeric">{formatPercent(one.fill, 0)}</td>
                <td className="numeric">
                  {one.predicted_ms === best && <Icon name="check" size={12} />}
                  {formatMs(one.predicted_ms)}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}

function Measured({ cost }: { cost: MaskCost }) {
  return (
    <section aria-label="Measured">
      <h3>Measured</h3>
      {cost.measured.length === 0 ? (
        <p className="list-note">No stored run has measured this very mask yet. Run it to compare.</p>
      ) : (
        <ul className="measured">
          {cost.measured.map((run) => (
            <li key={run.run_id}>
              <Link href={`/runs/${run.run_id}`}>{run.name}</Link>
              <span>
                <b>{formatMs(run.median_ms)}</b>
                {run.predicted_ms !== null && ` · ${formatMs(run.predicted_ms)} predicted`}
              </span>
              <small>
                {run.provider} · {run.dtype} · {run.num_heads} × {run.head_dim} · {run.device ?? "unknown device"}
              </small>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** These take longest to know, so everything else does not wait for them. */
function Formats({ mask, blocks }: { mask: Mask; blocks: Blocks }) {
  const { blockM, blockN } = blocks;
  const answer = useMaskAnswer(mask, ["formats", blockM, blockN], (signal) => readFormats(mask.hash, blocks, signal));
  return (
    <section aria-label="Bytes">
      <h3>
        Bytes <small>bars are logarithmic</small>
      </h3>
      {answer.isPending && <SkeletonLines lines={9} />}
      {answer.isError && <ErrorNotice error={answer.error} onRetry={() => answer.refetch()} />}
      {answer.data && <FormatBars formats={answer.data.formats} />}
    </section>
  );
}

function FormatBars({ formats }: FormatSizes) {
  const sizes = formats.map((one) => one.bytes ?? 0);
  const largest = Math.log2(Math.max(2, ...sizes));
  return (
    <ul className="bars">
      {formats.map((one) => (
        <li key={one.name} className={one.name === "descriptor" ? "chosen" : undefined} title={one.note || undefined}>
          <span>{one.name}</span>
          {one.bytes === null ? (
            <small>cannot hold it: {one.reason}</small>
          ) : (
            <>
              <Bar
                share={Math.log2(Math.max(2, one.bytes)) / largest}
                label={formatBytes(one.bytes)}
                quiet={one.name !== "descriptor"}
              />
              <small>{formatBytes(one.bytes)}</small>
            </>
          )}
        </li>
      ))}
    </ul>
  );
}

function Row({ name, children }: { name: string; children: string }) {
  return (
    <div className="row">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Bar({ share, label, quiet }: { share: number; label: string; quiet?: boolean }) {
  return (
    <div className={quiet ? "bar quiet" : "bar"} role="img" aria-label={label}>
      <i style={{ width: `${Math.max(1, Math.min(100, share * 100))}%` }} />
    </div>
  );
}
