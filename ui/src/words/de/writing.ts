// German: the editor, snippets and looking at files.

import type { writing as source } from "../en/writing";
import type { Like } from "../shape";

export const writing: Like<typeof source> = {
  // Parts of a message
  parts: "Teil der Nachricht",
  partFormatted: "Formatiert",
  partPlain: "Text",
  replyFormatted: "Text der Antwort, formatiert",
  partsAgree: "Der Textteil sagt dasselbe, für Mailprogramme ohne Formatierung. Er ändert sich mit dem, was Sie hier schreiben.",
  noPlainPart: "Diese Nachricht hat keinen Textteil. Mailprogramme ohne Formatierung zeigen die Worte von diesem.",
  partsDiffer: "Die beiden Teile sagen Verschiedenes. Jeder Empfänger sieht einen davon, die meisten den formatierten.",
  textFromHtml: "Den Textteil aus dem formatierten schreiben",
  htmlFromText: "Den formatierten Teil aus dem Text schreiben",
  htmlBeyond: "Er hat {what}; das lässt sich hier nicht bearbeiten.",
  beyondPictures: "Bilder",
  beyondTables: "Tabellen",
  beyondStyles: "eigene Stile",
  beyondElse: "andere Elemente",
  htmlSimplify: "Vereinfachen und bearbeiten",

  // Formatting
  formatting: "Formatierung",
  linkTitle: "Wohin führen diese Worte?",
  linkSays: "Der Empfänger sieht die Worte. Wohin sie führen, steht unter dem Entwurf.",
  linkAddress: "Adresse",
  linkBad: "Eine ganze Adresse wird erwartet, etwa https://brackenhall.example oder eine E-Mail-Adresse.",
  linkAway: "Link entfernen",
  linkSet: "Link setzen",

  // Changes
  changesFromVersion: "{n, plural, =0 {Keine Änderungen gegenüber Version {version}} one {# Änderung gegenüber Version {version}} other {# Änderungen gegenüber Version {version}}}",
  changesFromWhat: "Änderungen gegenüber",
  theDraft: "Entwurf der KI",
  theVersion: "Version {version}",
  changeHtmlAdded: "Formatierter Teil hinzugefügt",
  changeFormatting: "Formatierung",
  withChangesFrom: "Mit Änderungen gegenüber Version {version}",

  // Looking at files
  fileReading: "Die Datei wird gelesen …",
  fileOther: "Was zurückkam, ist nicht die Datei mit diesem Fingerabdruck; deshalb wird es nicht gezeigt.",
  pdfPage: "Seite {at, number} von {of, number}",
  pdfPageOf: "{name}, Seite {at, number}",
  pdfBefore: "Seite davor",
  pdfNext: "Nächste Seite",
  pdfBroken: "Dieses PDF lässt sich nicht lesen. Es ist vielleicht beschädigt: Sehen Sie es anderswo an, bevor Sie freigeben.",
  pdfLocked: "Dieses PDF ist mit einem Passwort geschützt; seine Seiten lassen sich hier nicht zeigen.",
  pdfSlow: "Dieses PDF braucht zu lange; wir haben aufgehört. Sehen Sie es anderswo an, bevor Sie freigeben.",
  pdfDrawn: "Hier gezeichnet aus der Datei mit diesem Fingerabdruck. Nichts darin lief oder wurde geladen; Buchstaben, deren Schrift nicht in der Datei liegt, können anders aussehen oder fehlen.",

  // Snippets
  snippets: "Textbausteine",
  snippetsSay: "Texte, die Sie immer wieder brauchen, für diesen Arbeitsbereich. Was in geschweiften Klammern steht, wird beim Einfügen ausgefüllt.",
  insertSnippet: "Textbaustein",
  insertIt: "Einfügen",
  findSnippet: "Textbaustein suchen",
  noSnippets: "Noch keine Textbausteine. Fügen Sie in den Einstellungen einen hinzu.",
  noSnippetFound: "Kein Textbaustein enthält diese Worte.",
  snippetFieldsSay: "Ein Feld, das leer bleibt, ist im Entwurf markiert und muss vor der Freigabe ausgefüllt werden.",
  snippetNamed: "Textbaustein: {name}",
  fieldFrom: "{kind}, aus dem Gespräch",
  fieldKind: { text: "Text", number: "Nummer", amount: "Betrag", date: "Datum", email: "E-Mail-Adresse" },
  fieldNumberBad: "Eine Nummer wird erwartet, etwa 4471.",
  fieldAmountBad: "Ein Betrag wird erwartet, etwa 45 € oder 10 %.",
  fieldDateBad: "Ein Tag wird erwartet, etwa 16. Mai oder Freitag.",
  addSnippet: "Textbaustein hinzufügen",
  editNamed: "{name} bearbeiten",
  removeNamed: "{name} entfernen",
  snippetName: "Name",
  snippetText: "Text",
  snippetTextSays: "Schreiben Sie {place}, wo etwas auszufüllen ist. Name, Adresse und Nummern des Kunden kommen aus dem Gespräch, wo sie dort stehen.",
  snippetFields: "Was in jedes Feld gehört",
  snippetSaved: "Textbaustein gespeichert.",
  snippetRemoveSays: "Entwürfe, in die er eingefügt wurde, behalten ihre Worte.",
  saveIt: "Speichern",

  // Places to be filled
  unfilled: "Diese Stelle ist noch auszufüllen",

  // Wann es hinausgeht
  sendAtSet: "Zeit festlegen",
  sendAtLocal: "Wann es hinausgeht, wie eine Uhr dort es zeigt",
  sendAtZone: "Zeitzone",
  sendAtWhich: "Welche von beiden?",
  sendAtFirst: "Die erste, UTC{offset}",
  sendAtSecond: "Die zweite, UTC{offset}",
  sendAtDrop: "Zeit streichen: Es geht nach der Freigabe hinaus",
  sendAtHere: "hier {here}, in UTC {utc}",
  sendAtPast: "Diese Zeit ist vorbei: Es geht hinaus, sobald Sie freigeben.",
  sendAtBad: "Eine Zeit ist nötig, etwa {example}.",
  sendAtNoZone: "Diese Zeitzone ist hier nicht bekannt.",
  sendAtGap: "{time} gibt es in {zone} nicht: Dann werden die Uhren umgestellt. Wählen Sie eine andere Zeit.",
  sendAtTwice: "Diese Stunde gibt es in {zone} zweimal. Wählen Sie, welche.",
  changeTime: "Andere Zeit",
  changeTimeSet: "Zeit festgelegt",
  changeTimeDropped: "Zeit gestrichen",
  approveLater: "Für später freigeben",
  saidScheduled: "Freigegeben für später: {when}. Noch ist nichts hinausgegangen.",
  quitLater: "{n, plural, one {# freigegebene Aktion hat eine eigene Zeit. Sie geht dann hinaus, wenn Countersign offen ist. Mehr als eine Viertelstunde zu spät wartet sie auf Sie.} other {# freigegebene Aktionen haben eine eigene Zeit. Jede geht dann hinaus, wenn Countersign offen ist. Mehr als eine Viertelstunde zu spät wartet sie auf Sie.}}",

  // Was im Weg stand und nicht mehr steht
  saidSendingOn: "Das Senden ist an.",
  saidUnlocked: "Ihr Schlüssel ist entsperrt.",
  saidReachable: "Alle Ziele sind wieder erreichbar.",
  saidSendsHere: "Freigegebene Aktionen gehen wieder von hier hinaus.",

  // Eine Grenze, die kein Haken aufhebt
  limitOpens: "{label}, noch nicht freizugeben. Lesen, bis wann.",
  limitHolds: "{label}: Es lässt sich noch nicht freigeben. Öffnen Sie es, um zu lesen, bis wann.",

  // Lange Arbeit
  stopWaiting: "Nicht mehr warten",
  exportRuns: "Der Export wird geschrieben…",
  searchRuns: "Suche läuft…",
  backupRuns: "Das Hauptbuch wird kopiert, dann wird die Kopie geprüft…",
  testRuns: "Die Verbindung wird geprüft…",
  backupLeft: "Wir warten nicht mehr darauf. Die Kopie kann trotzdem noch fertig werden.",
};
