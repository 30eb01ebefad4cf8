// The pages of a PDF as pictures. A file may be hostile: it is read in a worker that is thrown away, no script in it runs,
// nothing it names is fetched, its fonts are drawn as outlines, and a page that takes too long is given up.

import type { PDFDocumentProxy, PDFWorker, RenderTask } from "pdfjs-dist";
import workerUrl from "pdfjs-dist/legacy/build/pdf.worker.min.mjs?url";

export type Refusal = "locked" | "broken" | "slow";
export class PdfRefused extends Error {
  constructor(readonly why: Refusal) {
    super(why);
  }
}
export type Pages = {
  count: number;
  /** Draws a page as wide as is wanted and answers with its words; a page asked for later stops the one before. */
  draw(page: number, canvas: HTMLCanvasElement, width: number): Promise<string>;
  end(): void;
};

const WITHIN = 15_000;
/** Of one page's picture, in pixels. */
const AREA_MAX = 12_000_000;
const SIDE_MAX = 8_000;
const WORDS_MAX = 20_000;

function within<T>(work: Promise<T>, stop: () => void): Promise<T> {
  return new Promise((done, fail) => {
    const timer = setTimeout(() => {
      stop();
      fail(new PdfRefused("slow"));
    }, WITHIN);
    work.then(done, fail).finally(() => clearTimeout(timer));
  });
}

type Reader = ReadableStreamDefaultReader<{ items: ({ str: string; hasEOL: boolean } | object)[] }>;

/** Read piece by piece: not every web view can go through a stream in a loop. */
async function wordsOf(reader: Reader): Promise<string> {
  let out = "";
  while (out.length < WORDS_MAX) {
    const { value, done } = await reader.read();
    if (done) return out;
    for (const item of value.items) if ("str" in item) out += item.str + (item.hasEOL ? "\n" : "");
  }
  await reader.cancel();
  return out.slice(0, WORDS_MAX);
}

export async function openPdf(bytes: Uint8Array<ArrayBuffer>): Promise<Pages> {
  const pdfjs = await import("pdfjs-dist/legacy/build/pdf.mjs");
  const thread = new Worker(workerUrl, { type: "module" });
  let worker: PDFWorker | null = null;
  let pdf: PDFDocumentProxy;
  const end = () => {
    worker?.destroy();
    thread.terminate();
  };
  try {
    worker = pdfjs.PDFWorker.create({ port: thread, verbosity: pdfjs.VerbosityLevel.ERRORS });
    const broken = new Promise<never>((_, fail) => thread.addEventListener("error", () => fail(new PdfRefused("broken"))));
    const task = pdfjs.getDocument({
      data: bytes.slice(),
      worker,
      isEvalSupported: false,
      disableFontFace: true,
      useSystemFonts: false,
      useWorkerFetch: false,
      useWasm: false,
      enableXfa: false,
      isOffscreenCanvasSupported: false,
      isImageDecoderSupported: false,
      maxImageSize: AREA_MAX * 4,
      canvasMaxAreaInBytes: AREA_MAX * 4,
      disableAutoFetch: true,
      disableRange: true,
      disableStream: true,
      verbosity: pdfjs.VerbosityLevel.ERRORS,
    });
    pdf = await within(Promise.race([task.promise, broken]), end);
  } catch (thrown) {
    end();
    if (thrown instanceof PdfRefused) throw thrown;
    throw new PdfRefused((thrown as Error).name === "PasswordException" ? "locked" : "broken");
  }
  let drawing: RenderTask | null = null;
  let asked = 0;
  return {
    count: pdf.numPages,
    async draw(number, canvas, width) {
      const turn = ++asked;
      try {
        // Two pages cannot be drawn onto one canvas at once: the one before is stopped, and has stopped, first.
        drawing?.cancel();
        await drawing?.promise.catch(() => undefined);
        const page = await within(pdf.getPage(number), end);
        if (turn !== asked) return "";
        const plain = page.getViewport({ scale: 1 });
        const wanted = width / plain.width;
        const scale = Math.min(wanted, SIDE_MAX / plain.height, Math.sqrt(AREA_MAX / (plain.width * plain.height)));
        const viewport = page.getViewport({ scale });
        canvas.width = Math.max(1, Math.floor(viewport.width));
        canvas.height = Math.max(1, Math.floor(viewport.height));
        const mine = page.render({ canvas, viewport, annotationMode: pdfjs.AnnotationMode.ENABLE });
        drawing = mine;
        await within(mine.promise, () => {
          mine.cancel();
          end();
        });
        return await within(wordsOf(page.streamTextContent().getReader() as Reader), end);
      } catch (thrown) {
        throw thrown instanceof PdfRefused ? thrown : new PdfRefused("broken");
      }
    },
    end,
  };
}
