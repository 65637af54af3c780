import { useId } from "react";
import { LOOKS } from "../../domain/palette";
import { Menu } from "../../widgets/Menu";
import { Swatch } from "./Swatch";
import type { MaskLook } from "./useMaskLook";

/** Colours, patterns and the small picture, in a menu that Escape and a click elsewhere close. */
export function ViewMenu({ look }: { look: MaskLook }) {
  const id = useId();
  return (
    <Menu label="Colours and view" icon="palette" iconOnly small>
      <fieldset>
        <legend className="eyebrow">Colours</legend>
        {LOOKS.map((option) => (
          <label key={option.id}>
            <input
              type="radio"
              name={`${id}-look`}
              checked={look.look === option.id}
              onChange={() => look.setLook(option.id)}
            />
            {option.label}
          </label>
        ))}
        <p className="view-menu-sample" aria-hidden="true">
          <Swatch kind="hidden" look={look} />
          <Swatch kind="ramp" look={look} />
          <Swatch kind="full" look={look} />
        </p>
      </fieldset>
      <label>
        <input type="checkbox" checked={look.patterns} onChange={(event) => look.setPatterns(event.target.checked)} />
        Patterns beside the colours
      </label>
      <label>
        <input type="checkbox" checked={look.minimap} onChange={(event) => look.setMinimap(event.target.checked)} />
        Small picture of the whole mask
      </label>
    </Menu>
  );
}
