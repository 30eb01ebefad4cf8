// German. One word for each of the protocol's terms, everywhere:
//
//   action           Aktion              attempt        Versuch           receipt      Quittung
//   approve          freigeben           approval       Freigabe          fingerprint  Fingerabdruck
//   put back         zurücknehmen        hold, held     Wartezeit         key          Schlüssel
//   source           Quelle              destination    Ziel              ledger       Hauptbuch
//   request          Vorgang             draft          Entwurf           proposal     Vorschlag
//   accepted         angenommen          refused        abgelehnt         rejected     zurückgewiesen
//   unknown          unbekannt           settled        geklärt           gave up      aufgegeben
//   superseded       ersetzt             needs review   zu klären         hand over    übergeben
//   look up, ask     nachsehen, fragen   proof          Nachweis          finding      Prüfpunkt
//   revise           überarbeiten        sandbox        Sandbox           record       Akte
//
// "Sie" for the person, "wir" for the app, "Vorgang" so that it is never mistaken for "ask".

import type { Catalogue } from "../shape";
import { charts } from "./charts";
import { keys } from "./keys";
import { review } from "./review";
import { setup } from "./setup";
import { views } from "./views";
import { writing } from "./writing";

export const de: Catalogue = { ...charts, ...keys, ...review, ...setup, ...views, ...writing };
