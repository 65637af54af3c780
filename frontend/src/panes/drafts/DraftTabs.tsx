import { useEffect, useRef } from "react";
import { isUntouched, type OpenDraft, tabName } from "../../domain/drafts";
import { Button } from "../../widgets/Button";
import { Icon } from "../../widgets/Icon";

interface DraftTabsProps {
  tabs: readonly OpenDraft[];
  active: string | null;
  onActivate: (id: string) => void;
  onClose: (id: string) => void;
  onNew: () => void;
  onDuplicate: () => void;
}

/** The drafts side by side. A dot marks one that was changed since it was opened or saved. */
export function DraftTabs({ tabs, active, onActivate, onClose, onNew, onDuplicate }: DraftTabsProps) {
  const list = useRef<HTMLUListElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another active tab is scrolled into view
  useEffect(() => {
    list.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [active, tabs.length]);
  return (
    <nav className="draft-tabs" aria-label="Drafts">
      <ul ref={list}>
        {tabs.map((tab) => {
          const name = tabName(tab);
          const changed = !isUntouched(tab);
          return (
            <li key={tab.id} data-active={tab.id === active || undefined}>
              <button
                type="button"
                className="draft-tab"
                aria-current={tab.id === active ? "true" : undefined}
                title={tab.saved ? `${name}, version ${tab.saved.version}${changed ? ", changed since" : ""}` : name}
                onClick={() => onActivate(tab.id)}
                onAuxClick={(event) => event.button === 1 && onClose(tab.id)}
              >
                <span className="truncate">{name}</span>
                {tab.saved && <span className="version">v{tab.saved.version}</span>}
                {changed && (
                  <span className="changed">
                    <span className="visually-hidden">changed</span>
                  </span>
                )}
              </button>
              <button
                type="button"
                className="draft-close"
                aria-label={`Close draft ${name}`}
                onClick={() => onClose(tab.id)}
              >
                <Icon name="close" size={12} />
              </button>
            </li>
          );
        })}
      </ul>
      <Button small look="quiet" icon="plus" aria-label="New draft" onClick={onNew} />
      <Button small look="quiet" icon="copy" aria-label="Duplicate this draft" onClick={onDuplicate} />
    </nav>
  );
}
