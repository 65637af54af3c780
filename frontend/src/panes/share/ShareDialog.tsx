import { type ReactNode, useState } from "react";
import { exportPython, type FileAnswer } from "../../api/calls";
import type { Mask } from "../../api/types";
import type { Draft, SavedRef } from "../../domain/drafts";
import { maskMarkdown } from "../../domain/maskMarkdown";
import { pictureTitle } from "../../domain/maskSvg";
import type { ThemeName } from "../../domain/palette";
import { Button } from "../../widgets/Button";
import { CopyButton } from "../../widgets/CopyButton";
import { Dialog } from "../../widgets/Dialog";
import { maskCanvas, pngBlob, svgText } from "./maskPicture";

/** Small enough for a comment in a code review. */
const MARKDOWN_PICTURE = 320;

interface ShareDialogProps {
  draft: Draft;
  name: string;
  /** The picture that this text gives; null while the text has errors. */
  mask: Mask | null;
  saved: SavedRef | null;
  theme: ThemeName;
  link: () => Promise<string>;
  savedLink: string | null;
  onSave: (file: FileAnswer) => void;
  onClose: () => void;
}

/** All ways in which a mask leaves the studio. */
export function ShareDialog({ draft, name, mask, saved, theme, link, savedLink, onSave, onClose }: ShareDialogProps) {
  const [fault, setFault] = useState<string | null>(null);
  const told = async <T,>(work: Promise<T>): Promise<T> => {
    setFault(null);
    try {
      return await work;
    } catch (error) {
      setFault(error instanceof Error ? error.message : String(error));
      throw error;
    }
  };
  const python = () => told(exportPython(draft.source, draft.values));
  const markdown = async (shown: Mask) => {
    const canvas = await maskCanvas(shown, theme, MARKDOWN_PICTURE);
    const title = pictureTitle(name, shown);
    return maskMarkdown({ title, draft, picture: canvas.toDataURL("image/png"), link: await link() });
  };
  const png = async (shown: Mask) =>
    onSave({ name: `${name}.png`, blob: await pngBlob(await maskCanvas(shown, theme)) });
  const svg = async (shown: Mask) =>
    onSave({ name: `${name}.svg`, blob: new Blob([await svgText(shown, name, theme)], { type: "image/svg+xml" }) });
  const save = (work: Promise<void>) => void told(work).catch(() => undefined);
  return (
    <Dialog title="Share" onClose={onClose}>
      <div className="share">
        <Way title="Link" text="The whole text and its numbers stand in the link itself; no server needs to keep them.">
          <CopyButton label="Copy link" icon="link" done="Link copied" text={link} />
        </Way>
        {saved && savedLink && (
          <Way title="Saved mask" text={`“${saved.name}”, version ${saved.version}, in this studio's database.`}>
            <CopyButton label="Copy address" icon="link" done="Address copied" text={() => savedLink} />
          </Way>
        )}
        {mask ? (
          <>
            <Way title="Python" text="A module that rebuilds this mask, with its numbers.">
              <CopyButton label="Copy as Python" done="Python copied" text={async () => (await python()).blob.text()} />
              <Button icon="download" onClick={() => save(python().then(onSave))}>
                Download .py
              </Button>
            </Way>
            <Way
              title="Markdown"
              text="Text, numbers, link, and the picture inside of the text. Notebooks and most editors draw it; where it stays empty, add the PNG."
            >
              <CopyButton label="Copy as Markdown" done="Markdown copied" text={() => told(markdown(mask))} />
            </Way>
            <Way title="Picture" text="The whole mask: pixels, or exact shapes with the regions along both axes.">
              <Button icon="download" onClick={() => save(png(mask))}>
                PNG
              </Button>
              <Button icon="download" onClick={() => save(svg(mask))}>
                SVG
              </Button>
            </Way>
          </>
        ) : (
          <p className="muted">Python, Markdown and pictures are made when the text has no errors.</p>
        )}
        {fault && (
          <p className="notice bad" role="alert">
            {fault}
          </p>
        )}
      </div>
    </Dialog>
  );
}

function Way({ title, text, children }: { title: string; text: string; children: ReactNode }) {
  return (
    <section>
      <div>
        <h3>{title}</h3>
        <p>{text}</p>
      </div>
      <div className="ways">{children}</div>
    </section>
  );
}
