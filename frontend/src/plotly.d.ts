/** What comes without types: the single traces of plotly.js, and the address of a script. */

declare module "*?worker&url" {
  const url: string;
  export default url;
}

declare module "plotly.js/lib/core" {
  import type * as Whole from "plotly.js";

  const Plotly: typeof Whole & { register: (modules: unknown[]) => void };
  export default Plotly;
}

declare module "plotly.js/lib/bar" {
  const trace: unknown;
  export default trace;
}

declare module "plotly.js/lib/box" {
  const trace: unknown;
  export default trace;
}

declare module "plotly.js/lib/histogram" {
  const trace: unknown;
  export default trace;
}
