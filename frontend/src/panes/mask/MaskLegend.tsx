import type { Layer } from "./tileImages";

/** What the colours mean. */
export function MaskLegend({ layer }: { layer: Layer }) {
  return (
    <ul className="mask-legend" aria-label="Legend">
      <li>
        <i className="swatch hidden" />
        {layer === "density" ? "hidden" : "empty tile, skipped"}
      </li>
      <li>
        <i className={layer === "density" ? "swatch partial-ramp" : "swatch partial-hatched"} />
        {layer === "density" ? "partly visible" : "partial tile, tested cell by cell"}
      </li>
      <li>
        <i className="swatch full" />
        {layer === "density" ? "visible" : "full tile"}
      </li>
    </ul>
  );
}
