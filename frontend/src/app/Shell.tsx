import type { ReactNode } from "react";
import { Link, useLocation } from "wouter";
import type { ThemeName } from "../domain/palette";
import { Button } from "../widgets/Button";
import { Icon } from "../widgets/Icon";
import { isEditorPath } from "./places";

const PAGES = [
  { path: "/", label: "Editor" },
  { path: "/masks", label: "Masks" },
  { path: "/runs", label: "Runs" },
  { path: "/compare", label: "Compare" },
  { path: "/environment", label: "Environment" },
] as const;

interface ShellProps {
  theme: ThemeName;
  onToggleTheme: () => void;
  onShortcuts: () => void;
  down: boolean;
  onRetry: () => void;
  newRuns: number;
  activeLaunches: number;
  children: ReactNode;
}

/** The bar at the top, the banner when the server is away, and the page. */
export function Shell({
  theme,
  onToggleTheme,
  onShortcuts,
  down,
  onRetry,
  newRuns,
  activeLaunches,
  children,
}: ShellProps) {
  const [location] = useLocation();
  const active = (path: string) => {
    if (isEditorPath(location)) return path === "/";
    if (location.startsWith("/diff")) return path === "/masks";
    if (location.startsWith("/launches")) return path === "/runs";
    return path !== "/" && location.startsWith(path);
  };
  return (
    <div className="shell">
      <header className="topbar">
        <Link href="/" className="brand" aria-label="CompileMask Studio">
          <Mark />
          <b>
            CompileMask <span>Studio</span>
          </b>
        </Link>
        <nav className="nav" aria-label="Pages">
          {PAGES.map(({ path, label }) => (
            <Link key={path} href={path} aria-current={active(path) ? "page" : undefined}>
              {label}
              {path === "/runs" && newRuns > 0 && <span className="count">{newRuns}</span>}
            </Link>
          ))}
        </nav>
        <span className="grow" />
        {activeLaunches > 0 && (
          <Link href="/launches" className="badge live" title="Open the queue">
            <Icon name="refresh" size={12} className="spin" />
            {activeLaunches === 1 ? "1 running" : `1 running, ${activeLaunches - 1} waiting`}
          </Link>
        )}
        <span className="hide-small">
          <Button look="quiet" icon="keyboard" aria-label="Keyboard shortcuts" onClick={onShortcuts} />
        </span>
        <Button
          look="quiet"
          icon={theme === "dark" ? "sun" : "moon"}
          aria-label={theme === "dark" ? "Light theme" : "Dark theme"}
          onClick={onToggleTheme}
        />
      </header>
      {down && (
        <div className="banner" role="alert">
          <span className="grow">
            The studio's server does not answer. Your text is kept; it will be compiled when the server is back.
          </span>
          <Button small onClick={onRetry}>
            Try now
          </Button>
        </div>
      )}
      <main className="main">{children}</main>
    </div>
  );
}

function Mark() {
  return (
    <svg width="18" height="18" viewBox="0 0 18 18" aria-hidden="true">
      <path
        d="M1 1h4.5v4.5H1zM1 6.8h4.5v4.5H1zM6.8 6.8h4.5v4.5H6.8zM1 12.5h4.5V17H1zM6.8 12.5h4.5V17H6.8z"
        fill="var(--full)"
      />
      <path d="M12.5 12.5H17V17h-4.5z" fill="var(--partial)" />
    </svg>
  );
}
