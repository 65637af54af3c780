/** The part of Plotly that the charts need. It is large and loads with the first chart. */

import bar from "plotly.js/lib/bar";
import box from "plotly.js/lib/box";
import Plotly from "plotly.js/lib/core";
import histogram from "plotly.js/lib/histogram";

Plotly.register([bar, box, histogram]);

export default Plotly;
