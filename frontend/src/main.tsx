import { createRoot } from "react-dom/client";
import { App } from "./app/App";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/widgets.css";
import "./styles/feedback.css";
import "./styles/overlay.css";
import "./styles/shell.css";
import "./styles/editor.css";
import "./styles/mask.css";
import "./styles/inspector.css";
import "./styles/inspection.css";
import "./styles/gallery.css";
import "./styles/launch.css";
import "./styles/compare.css";
import "./styles/runs.css";

const root = document.getElementById("root");
if (root) createRoot(root).render(<App />);
