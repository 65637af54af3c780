import { closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, indentUnit } from "@codemirror/language";
import { lintGutter, lintKeymap } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
  placeholder,
} from "@codemirror/view";
import { type Ref, useEffect, useImperativeHandle, useRef } from "react";
import type { Diagnostic, Fix, Span, Word } from "../../api/types";
import { applyFix, showDiagnostics } from "./diagnostics";
import { editorTheme } from "./editorTheme";
import { folding, foldLeadingComment } from "./folding";
import { hangingIndent } from "./hangingIndent";
import { lightLines, litLines } from "./litLines";
import { pointedPlace } from "./pointedPlace";
import { quickFixes } from "./quickFixes";
import { regionLanguage } from "./regionLanguage";
import { replaceText } from "./replaceText";

export interface CodeEditorHandle {
  /** Select a part of the text and show it. */
  goTo: (start: number, stop: number) => void;
  applyFix: (fix: Fix) => void;
  /** Puts another text in place of the whole one, as one step that can be undone. */
  replace: (source: string) => void;
  /** Light the lines of these parts of the text, and no others. */
  light: (spans: readonly Span[]) => void;
  focus: () => void;
}

interface CodeEditorProps {
  /** Which text this is: each has its own undo history, selection and folds. */
  docId: string;
  source: string;
  words: readonly Word[];
  /** Null while the text is newer than what the server has seen: the marks then move with the text. */
  diagnostics: readonly Diagnostic[] | null;
  onChange: (source: string) => void;
  onCompile: () => void;
  onRun: () => void;
  onPointed: (offset: number | null) => void;
  onFormat: () => void;
  ref?: Ref<CodeEditorHandle>;
}

const language = new Compartment();

function extensions(
  handlers: { current: Pick<CodeEditorProps, "onChange" | "onCompile" | "onRun" | "onFormat" | "onPointed"> },
  words: readonly Word[],
): Extension[] {
  const run = (what: "onCompile" | "onRun" | "onFormat") => () => {
    handlers.current[what]();
    return true;
  };
  return [
    lineNumbers(),
    highlightActiveLineGutter(),
    highlightActiveLine(),
    highlightSpecialChars(),
    highlightSelectionMatches(),
    history(),
    drawSelection(),
    indentUnit.of("  "),
    EditorView.lineWrapping,
    hangingIndent,
    bracketMatching(),
    closeBrackets(),
    lintGutter(),
    folding,
    quickFixes,
    litLines,
    pointedPlace((offset) => handlers.current.onPointed(offset)),
    placeholder("mask causal(n: int)\ntokens { S: n }\nS sees S causal"),
    language.of(regionLanguage(words)),
    editorTheme,
    EditorView.contentAttributes.of({ "aria-label": "Program", spellcheck: "false", tabindex: "0" }),
    // Tab is left to the browser, so that the keyboard can leave the editor.
    keymap.of([
      { key: "Mod-Enter", run: run("onCompile") },
      { key: "Mod-Shift-Enter", run: run("onRun") },
      { key: "Shift-Alt-f", run: run("onFormat") },
      ...closeBracketsKeymap,
      ...completionKeymap,
      ...lintKeymap,
      ...searchKeymap,
      ...historyKeymap,
      ...defaultKeymap,
    ]),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) handlers.current.onChange(update.state.doc.toString());
    }),
  ];
}

function firstState(handlers: { current: CodeEditorProps }): EditorState {
  const { source, words } = handlers.current;
  return EditorState.create({ doc: source, extensions: extensions(handlers, words) });
}

export function CodeEditor(props: CodeEditorProps) {
  const { docId, source, words, diagnostics, ref } = props;
  const holder = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const handlers = useRef(props);
  handlers.current = props;
  /** The states of the texts that are not shown. */
  const others = useRef(new Map<string, EditorState>());
  const shown = useRef(docId);

  useEffect(() => {
    if (!holder.current) return;
    const created = new EditorView({ state: firstState(handlers), parent: holder.current });
    view.current = created;
    foldLeadingComment(created);
    return () => {
      created.destroy();
      view.current = null;
    };
  }, []);

  // Before the text below: another text is another state, not a change of this one.
  useEffect(() => {
    const editor = view.current;
    if (!editor || shown.current === docId) return;
    others.current.set(shown.current, editor.state);
    shown.current = docId;
    const known = others.current.get(docId);
    editor.setState(known ?? firstState(handlers));
    if (known) editor.dispatch({ effects: language.reconfigure(regionLanguage(handlers.current.words)) });
    else foldLeadingComment(editor);
  }, [docId]);

  useEffect(() => view.current?.dispatch({ effects: language.reconfigure(regionLanguage(words)) }), [words]);

  useEffect(() => {
    if (view.current && shown.current === docId) replaceText(view.current, source);
  }, [docId, source]);

  useEffect(() => {
    if (view.current && diagnostics) showDiagnostics(view.current, diagnostics);
  }, [diagnostics]);

  useImperativeHandle(ref, () => ({
    goTo: (start, stop) => {
      const editor = view.current;
      if (!editor) return;
      const length = editor.state.doc.length;
      editor.dispatch({
        selection: { anchor: Math.min(start, length), head: Math.min(stop, length) },
        scrollIntoView: true,
      });
      editor.focus();
    },
    replace: (text) => view.current && replaceText(view.current, text),
    applyFix: (fix) => view.current && applyFix(view.current, fix),
    light: (spans) => view.current && lightLines(view.current, spans),
    focus: () => view.current?.focus(),
  }));

  return <div className="code-editor" ref={holder} data-testid="program" />;
}
