/** The charts' part of Plotly as a script of its own, for files that open alone. It is built as a worker is, since that
 * makes one file without imports; it never runs as one. */

import Plotly from "./plotlyBundle";

(globalThis as { Plotly?: unknown }).Plotly = Plotly;
