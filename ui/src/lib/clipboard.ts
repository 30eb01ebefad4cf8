// Copying. The clipboard interface is missing in some web views; the older way works there from inside a key press.

export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.createElement("textarea");
    field.value = text;
    field.readOnly = true;
    field.className = "vh";
    (document.querySelector("dialog[open]") ?? document.body).append(field);
    const before = document.activeElement;
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    if (before instanceof HTMLElement) before.focus();
    return done;
  }
}
