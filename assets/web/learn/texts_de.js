// The words of the lesson in German.

/** @import { Texts } from "./texts_en.js" */

const blocks = (/** @type {number} */ n) => (n === 1 ? "1 Block" : `${n} Blöcken`);

/** @type {Texts} */
export const DE = {
  language: "Deutsch",
  languages: "Sprache der Lektion",
  decimal: ",",
  quotes: ["„", "“"],
  bar: "Schritte der Lektion",
  spine: "Teile eines Blocks",
  steps: {
    tokens: "Tokens",
    embedding: "Embedding",
    projection: "q, k, v",
    attention: "Ein Kopf, ein Token",
    heads: "Köpfe, W_O",
    residual: "Residualverbindung, Norm",
    ffn: "FFN",
    depth: "Tiefe",
    knockout: "Ausschalten",
    masks: "Masken",
    pooling: "Pooling",
    build: "Selbst bauen",
  },
  stages: {
    x: "x",
    norm_attention: "Norm",
    qkv: "q, k, v",
    scores: "Scores",
    softmax: "Softmax",
    values: "Σ α · v",
    output: "W_O",
    residual_attention: "Residualsumme",
    norm_ffn: "Norm",
    ffn: "FFN",
    residual_ffn: "Residualsumme",
    norm_final: "letzte Norm",
  },
  block: {
    attention: "Multi-Head-Attention",
    bypass: "Residualverbindung",
    dropout: "Dropout",
    dropoutSays: "Dropout setzt beim Trainieren zufällig einige der Zahlen auf 0. In einem Lauf tut es nichts.",
    pre: "Pre-Norm",
    post: "Post-Norm, Add & Norm",
    play: "▶ Weg abspielen",
    next: "Nächster Teil",
    x: (token, n) => `der Vektor von ${token} nach ${blocks(n)}.`,
    query: (head) => `drei lineare Abbildungen von ihm in jedem Kopf; hier die Query von Kopf ${head}.`,
    scores: (head) => `diese Query mal der Key jedes Tokens, in Kopf ${head}: eine Zahl für jedes Token.`,
    out: (n) => `die Summe, die weitergeht, der Vektor nach ${blocks(n)}.`,
    says: {
      norm_attention: "bringt seine Zahlen auf einen gemeinsamen Maßstab.",
      softmax: "macht aus den Scores Gewichte: positiv, mit Summe 1.",
      values: "die Values, jeder mal sein Gewicht, addiert; alle Köpfe nebeneinander.",
      output: "mischt, was die Köpfe gefunden haben.",
      residual_attention: "der Vektor, der hereinkam, plus das, was die Attention gefunden hat.",
      norm_ffn: "wieder auf einen gemeinsamen Maßstab.",
      ffn: "macht ihn breiter, wendet die Aktivierung an und macht ihn wieder schmal; kein anderes Token ist beteiligt.",
      norm_final: "noch einmal auf einen Maßstab, nach dem letzten Block.",
    },
  },
  keys: "Leertaste: weiter · ← → Schicht · ↑ ↓ Kopf",
  keysTitle:
    "Leertaste oder Bild ab: nächster Schritt. Umschalt + Leertaste oder Bild auf: voriger Schritt. Pfeiltasten: Schicht und Kopf.",
  lesson: "Den Satz der Lektion öffnen",
  untrained: (layers, heads) =>
    `Das ist der Encoder aus Schritt 12, ${layers} × ${heads} Köpfe, untrainiert: Seine Gewichte sind zufällig; gelernt hat er nichts.`,
  missing: "Dieser Schritt wird hier nicht gezeigt: ",
  agrees: (error) =>
    `Jede Zahl ist aus den Werten des Laufs nachgerechnet und weicht höchstens um ${error} des größten Werts von ihm ab.`,
  here: "Hier im Browser geändert; das Modell ist so nicht gelaufen.",
  reset: "Zurück zum Lauf",
  waiting: "Wird gerechnet …",
  server: [
    [
      /^No positions: nothing is added here, so the model does not know the token order\.$/,
      () => "Keine Positionen: Hier wird nichts addiert, also kennt das Modell die Reihenfolge der Tokens nicht.",
    ],
    [
      /^Rotary: nothing is added here/,
      () => "Rotary: Hier wird nichts addiert; in jeder Schicht werden q und k um ihre Position gedreht.",
    ],
    [
      /^Relative positions: nothing is added here/,
      () => "Relative Positionen: Hier wird nichts addiert; zu jedem Score kommt ein Bias für den Abstand.",
    ],
    [
      /^This model was recorded, and its embedding tables/,
      () => "Aufgezeichnet: Das ging in den ersten Block; woraus es summiert wurde, ist hier nicht bekannt.",
    ],
    [
      /^Rotary: q and k are rotated/,
      () =>
        "Rotary: q und k werden um einen Winkel gedreht, der mit der Position des Tokens wächst; beide stehen hier davor und danach.",
    ],
    [
      /^With need_weights=True, torch divides q/,
      () => "Mit need_weights=True teilt torch q vor dem Produkt durch √d_head; q steht hier davor und danach.",
    ],
    [
      /^This run kept only its maps|^This model computes its softmax itself/,
      () => "Dieses Modell berechnet seinen Softmax selbst; erhalten sind nur seine Karten, ohne Queries und Keys.",
    ],
    [
      /^A run keeps no pixels and no vectors/,
      () => "Ein gespeicherter Lauf enthält weder Pixel noch Vektoren seiner Eingabe.",
    ],
    [/^The id of token (\d+) is not known/, (at) => `Die ID von Token ${at} ist aus seinem Namen nicht bekannt.`],
    [
      /^Token (\d+) is padding/,
      (at) => `Token ${at} ist Padding, das torch in diesem Lauf ausließ; wähle ein echtes Token.`,
    ],
    [
      /^The model of this run is not loaded here/,
      () => "Das Modell dieses Laufs ist hier nicht geladen; lass den Text oder das Bild noch einmal laufen.",
    ],
    [
      /^A head was removed from this run/,
      () => "Aus diesem Lauf ist ein Kopf herausgenommen, und dies rechnet mit dem, was alle Köpfe beitragen.",
    ],
    [
      /^(?:The model must run again for this|This run was made with a mask)/,
      () => "Das geht nur mit einem Lauf ohne Maske und ohne Änderungen.",
    ],
    [
      /^Only the words of a text can be swapped/,
      () => "Nur Wörter eines Textes können die Plätze tauschen; diese Eingabe hat keine Token-IDs.",
    ],
    [
      /^Swapping takes two different words/,
      () => "Zum Tauschen braucht es zwei verschiedene Wörter, die dieser Text nicht hat; gib noch eines ein.",
    ],
    [
      /^(\w+) is '?(.*?)'?; it must be ([\d,]+) to ([\d,]+)\.$/,
      (name, value, least, most) =>
        `${name} ist ${value}; erlaubt ist ${least.replaceAll(",", ".")} bis ${most.replaceAll(",", ".")}.`,
    ],
    [
      /^d_model = (\d+) cannot be divided among (?:n_heads = )?(\d+)/,
      (wide, heads) =>
        `d_model = ${wide} lässt sich nicht auf ${heads} Köpfe verteilen; nimm ein Vielfaches von ${heads}.`,
    ],
    [
      /^d_head = (\d+) cannot be rotated in pairs; choose (?:a multiple of (\d)|an even one)/,
      (wide, of) => `d_head = ${wide} lässt sich nicht paarweise drehen; nimm ein Vielfaches von ${of ?? 2}.`,
    ],
    [
      /^image_size \((\d+), \d+\) cannot be cut into patches of (\d+)/,
      (side, patch) =>
        `${side} Pixel lassen sich nicht in Patches von ${patch} teilen; nimm ein Vielfaches von ${patch}.`,
    ],
    [
      /^This encoder has ([\d,]+) weights; at most ([\d,]+)/,
      (n, most) =>
        `Dieser Encoder hat ${n.replaceAll(",", ".")} Gewichte; hier werden höchstens ${most.replaceAll(",", ".")} gebaut.`,
    ],
    [
      /^This encoder reads words/,
      () => "Dieser Encoder liest Wörter und braucht einen Text; lass erst einen Text laufen.",
    ],
    [
      /^The text has ([\d,]+) tokens and .*? ([\d,]+):/,
      (n, most) => `Der Text hat ${n} Tokens, das Modell liest ${most}; kürze ihn oder vergrößere T.`,
    ],
    [
      /^This file cannot compute that/,
      () => "Das kann diese Datei nicht berechnen; die Seite von viz-encoder kann es.",
    ],
    [
      /^(.+) reads (pictures|texts); run one of those first/,
      (name, kind) => `${name} liest ${kind === "texts" ? "Texte" : "Bilder"}; lass erst so etwas laufen.`,
    ],
    [/^Running …(?: (\d+) s)?$/, (seconds) => (seconds ? `Läuft … ${seconds} s` : "Läuft …")],
  ],
  axes: { query: "← Query (schaut)", key: "Key (auf ihn wird geschaut) →" },
  choice: {
    tokens: "Die Tokens. Pfeiltasten gehen weiter, die Eingabetaste wählt.",
    beside: "Neben dem Bild: ",
    patches: "Bild aus Patches",
    picture: (size, chosen) => `Bild aus ${size} Patches. Gewählt: ${chosen}. Pfeiltasten wählen einen Patch.`,
  },
  screen: { open: "Ganzer Bildschirm (Taste f)", close: "Ganzen Bildschirm verlassen (Taste f)" },
  serverSays: "Der Server sagt auf Englisch: ",
  vectors: {
    length: "Länge",
    strip: (name, n) => `${name}, ${n} Zahlen. Ein Klick wählt, welche ausgeschrieben werden.`,
  },
  tokens: {
    headline: (n) => `Das Modell liest ${n} Tokens, jedes als seine Nummer (ID) im Vokabular.`,
    picture: (n) => `Das Modell liest ${n} Tokens: die Patches des Bildes, Zeile für Zeile.`,
    note: "Ein Wort, das im Vokabular fehlt, wird in Stücke zerlegt (## steht vor einem, das ein Wort fortsetzt); ein Modell, das nur ganze Wörter kennt, liest stattdessen [UNK]. Die Sondertokens fügt der Tokenizer hinzu. Ein Klick auf ein Token verfolgt es durch den Encoder.",
    pictureNote: (rows, cols, names) =>
      `Das Bild in ${rows} × ${cols} Patches, Zeile für Zeile. ${names && `Davor stehen Präfix-Tokens ohne Pixel: ${names}. [CLS] sammelt, was nach dem Bild gefragt wird; Register, wo es welche gibt, nehmen auf, was zu keinem Patch gehört. `}Ein Klick auf einen Patch verfolgt ihn durch den Encoder.`,
    more: (n) => (n === 1 ? "1 weiteres Token steht hier nicht." : `${n} weitere Tokens stehen hier nicht.`),
    named: (n) => `Das Modell liest ${n} Tokens.`,
    namedNote:
      "Dieser Lauf hat die Namen seiner Tokens, aber nicht ihre IDs. Ein Klick auf ein Token verfolgt es durch den Encoder.",
    position: "Stelle",
    id: "ID",
    grid: (rows, cols) => `Das Bild in ${rows} × ${cols} Patches`,
    patch: (at, row, col) => `Token ${at}: der Patch in Zeile ${row}, Spalte ${col} (beide von 0 an), und seine Pixel`,
    before: (name) => `${name} steht vor den Patches und hat keine Pixel: Sein Vektor ist gelernt.`,
  },
  map: {
    title: "Der ganze Encoder und die Schritte zu seinen Teilen",
    steps: (about) => (about.length > 1 ? `Schritte ${about}` : `Schritt ${about}`),
    tokens: "Der Text in Stücken.",
    patches: "Das Bild in Patches.",
    embedding: (n) => `Ein Vektor aus ${n} Zahlen für jedes, dazu der seiner Stelle.`,
    vectors: "Ein Vektor für jedes, dazu der seiner Stelle.",
    blocks: (n) => (n === 1 ? "1 Block" : `${n} Blöcke`),
    block: (heads) =>
      `In jedem bringt die Attention mit ${heads} Köpfen zusammen, was die Tokens einander sagen; dann arbeitet ein Feed-forward-Netz an jedem Token allein. Beide addieren etwas zu dem, was hereinkam.`,
    units: (n) => ` Das Netz hat ${n} Einheiten.`,
    end: "Das Ende",
    answer: "Die Vektoren nach dem letzten Block geben die Antwort oder werden zu einem Vektor zusammengefasst.",
    taken: "Was man wegnimmt oder mit einer Maske verbirgt, zeigt, worauf es ankam.",
    note: "Ein Encoder liest die ganze Eingabe auf einmal, und jedes Token darf auf alle anderen schauen, nach beiden Seiten. Ein Decoder schreibt ein Token nach dem anderen, also darf jedes nur zurückschauen (Schritt 10).",
  },
  embedding: {
    headline: (name, d) => ["Aus ", name, ` werden ${d} Zahlen.`],
    note: "Die Zeile des Tokens ist immer dieselbe, egal wo es steht; die Zeile der Stelle ist für jedes Token dieselbe, das dort steht. Addiert wird Zahl für Zahl.",
    noteAlone: "Die Zeile des Tokens ist immer dieselbe, egal wo es steht.",
    token: (id) => (id === null ? "Patch-Vektor" : `Token-ID ${id}`),
    learned: (name) => `${name}, gelernt`,
    notePatch:
      "Die Pixel eines Patches mal eine Matrix ergeben seinen Vektor: gleiche Pixel, gleicher Vektor. Die Zeile der Stelle sagt, wo der Patch liegt; sie ist bei jedem Bild dieselbe.",
    notePrefix:
      "Dieser Vektor ist gelernt und bei jedem Bild derselbe; in den Blöcken sammelt er, was die Patches beitragen.",
    position: (at) => `Stelle ${at}`,
    segment: "Segment",
    sum: "Summe",
    out: "nach der Norm",
    entering: "nach 0 Blöcken",
    vectors: "Vektor des Tokens, Vektor der Stelle und ihre Summe",
    table: "Die Vektoren aller Stellen",
    sines: "Sinus und Kosinus an ihrer Stelle, wie im ersten Transformer",
    tableSaid: (rows, n, columns, full) =>
      `Zeilen sind die ${rows < n ? `ersten ${rows} der ${n}` : rows} Stellen dieser Eingabe, Spalten die ${columns} Dimensionen; Rot ist über 0, Blau darunter, ab ${full} in voller Farbe. Ein Klick auf eine Zeile wählt ihr Token.`,
    tableCell: (row, column, value) => `Stelle ${row}, Dimension ${column}: ${value}`,
  },
  order: {
    go: "Kennt das Modell die Wortfolge? Zwei Wörter tauschen",
    said: (one, two, on, off) =>
      `${one} und ${two} getauscht: Mit Positionen ändern sich die Ausgabevektoren der Tokens im Mittel um ${on} ihrer Länge, ohne Positionen um ${off}.`,
    blind: " Ohne Positionen kennt das Modell die Reihenfolge der Wörter also nicht.",
    vectors: (name) => `Der Ausgabevektor von ${name}, an seiner Stelle in jedem Text`,
    rows: ["Original", "getauscht", "ohne Positionen", "ohne P., getauscht"],
  },
  projection: {
    headline: (name, head) => [
      "Aus dem Vektor von ",
      name,
      ` macht Kopf ${head} eine Query, einen Key und einen Value.`,
    ],
    note: (d) =>
      `Jede Zahl von q ist eine Summe von ${d} Produkten: der Vektor mal eine Spalte der Matrix W_q. Alle Tokens bekommen ihre auf einmal; ein rekurrentes Netz nimmt ein Token nach dem anderen. Ein Klick auf eine Zahl von q zeigt ihre Summe.`,
    x: "x",
    column: (dim) => `W_q, Spalte ${dim}`,
    product: "Produkt",
    sum: (n, products, rest, bias) =>
      `Die größten der ${n} Produkte: ${products}. Die übrigen ergeben ${rest}${bias === null ? "" : `, der Bias ist ${bias}`}. Zusammen: `,
    at: (dim) => `Zelle ${dim}:`,
    q: (name) => `q von ${name}: wonach es sucht`,
    k: (name) => `k von ${name}: woran es gefunden wird`,
    v: (name) => `v von ${name}: was es weitergibt`,
    before: "vor der Drehung nach seiner Position",
    whole: "vor der Division durch √d_head",
    vectors: "Der Vektor, eine Spalte von W_q und ihre Produkte",
  },
  attention: {
    headline: (query, head, key) => ["In Kopf ", head, " schaut ", query, " am stärksten auf ", key, "."],
    nothing: (query) => [query, " darf hier nirgends hinschauen."],
    products: (query, key) =>
      `1 · Die Query von ${query} Zahl für Zahl mit dem Key von ${key} multiplizieren und die Produkte addieren`,
    sum: (n, dot, by) => `Summe der ${n} Produkte = ${dot} → ${by} = `,
    spread: (query, wide, by, narrow) =>
      `Warum ${by}: Die Scores von ${query} streuen davor mit einer Standardabweichung von ${wide}, danach mit ${narrow}. Eine Summe von d Produkten unabhängiger Zahlen der Varianz 1 hat die Varianz d; ungeteilt gäbe der Softmax eines breiten Kopfes fast das ganze Gewicht einem einzigen Key.`,
    minus: "Eine Maske gibt dem Score eines Keys, der nicht erlaubt ist, −∞: e^−∞ = 0, also ist sein Gewicht genau 0.",
    bias: (bias) => ` (mit dem Bias ${bias} dieses Abstands)`,
    softmax: "2 · Dasselbe für jeden Key, dann der Softmax: e^Score ÷ Summe über alle Keys",
    values: "3 · Die Values addieren, jeder mal sein Gewicht",
    q: (name) => `q von ${name}`,
    k: (name) => `k von ${name}`,
    number: (at) => `Zelle ${at}`,
    point: "Zeig auf eine Spalte, um ihr Produkt mit vier Stellen zu sehen.",
    columns: { key: "Key", dot: "q·k", allowed: "erlaubt", exp: "e^(Score − max)", weight: "Gewicht" },
    drag: "ziehen",
    dragged: (name) => `Score von ${name}; ziehen oder mit ← und → ändern`,
    look: (name) => `Darf auf ${name} schauen`,
    undivided: "nicht geteilt",
    others: (n, share) => (n === 1 ? `1 anderer Key hat ${share}` : `${n} andere Keys teilen sich ${share}`),
    rest: (n) => (n === 1 ? "1 anderer Key" : `${n} andere Keys`),
    out: "Summe",
    outOf: "Die gewichteten Values und ihre Summe",
    long: "Die Values so vieler Tokens werden nicht übertragen; gezeigt wird die Summe des Laufs.",
    sinkNote: (share) => `Ein Anteil von ${share} geht in diesem Modell an kein Token (Softmax-Senke).`,
  },
  removed: {
    title: "4 · Schauen ist nicht Wirken: Nimm den Kopf heraus und sieh, was das Modell sagt",
    head: "ohne Kopf",
    weight: (key) => `sein Gewicht auf ${key}`,
    answer: "das Modell sagt",
    turned: "der Vektor dreht sich um (1 − Kosinus)",
    looks: (head, key, weight, left, other, then, flips) =>
      `Kopf ${head} gibt ${key} das Gewicht ${weight}, und ohne ihn sagt das Modell ${left}. Ohne Kopf ${other} ${flips ? "ist die Antwort eine andere" : "bleibt am wenigsten von der Antwort"}: ${then}.`,
    both: (head, key, then) => `Kopf ${head} schaut auf ${key}, und die Antwort hängt von ihm ab: ohne ihn ${then}.`,
    none: (head) => `Kein Kopf allein ändert die Antwort: Andere können dasselbe tun. Am meisten bewirkt Kopf ${head}.`,
    turns: (head, key, weight, by, other, most) =>
      head === other
        ? `Kopf ${head} gibt ${key} das Gewicht ${weight}, und kein anderer dreht den Vektor so weit: um ${most}.`
        : `Kopf ${head} gibt ${key} das Gewicht ${weight}, und ohne ihn dreht sich der Vektor um ${by}, ohne Kopf ${other} um ${most}.`,
  },
  heads: {
    headline: (name, head) => [
      "Was jeder Kopf zu ",
      name,
      ` beiträgt: Kopf ${head} trägt in diesem Block den längsten Vektor bei.`,
    ],
    note: "Die Summe jedes Kopfs wird mit seinem eigenen Teil der Matrix W_O multipliziert. Die Ergebnisse werden addiert; das ist die Ausgabe der Attention. Ein Klick wählt den Kopf.",
    head: (layer, head) => `Kopf ${layer}.${head}`,
    bias: "Bias von W_O",
    sum: "Attention-Ausgabe",
    vectors: "Der Teil jedes Kopfs und ihre Summe",
  },
  residual: {
    headline: (name, from, to) => ["Dieser Block ändert die Länge des Vektors von ", name, ` von ${from} auf ${to}.`],
    note: "Attention und FFN addieren etwas zum ankommenden Vektor; sie ersetzen ihn nicht. Eine Norm bringt die Zahlen eines Tokens auf einen Maßstab; BatchNorm nähme Mittelwert und σ über einen Batch, sodass auch andere Eingaben zählten. Der erste Transformer und BERT haben Post-Norm.",
    stages: "Der Vektor nach jedem Teil des Blocks",
    norm: (kind, mean, std) =>
      mean
        ? `${kind}: den Mittelwert ${mean} abziehen, durch σ = ${std} teilen, dann mal γ, plus β`
        : `${kind}: durch das quadratische Mittel ${std} teilen, dann mal γ`,
    one: (dim) => `Zelle ${dim}: `,
  },
  placement: {
    title: "Pre-Norm und Post-Norm nebeneinander, untrainiert",
    residualOff: "Residualverbindungen aus",
    normOff: "Norm aus",
    post: "Post-Norm",
    blocks: "nach Blöcken",
    columns: ["Länge", "Rest", "ähnlich"],
    note: "Zwei Encoder aus 12 Blöcken, 64 breit, mit denselben Zufallsgewichten (Xavier), lesen diese Tokens. „Rest“ ist die Länge dessen, was über die Residualverbindungen vom Embedding bleibt, geteilt durch die des Zustands. „Ähnlich“ ist sein mittlerer Kosinus zu den anderen Tokens.",
    both: (token, length, n, left, grown, whole) =>
      `Post-Norm bringt jede Summe auf einen Maßstab; so ist jeder Zustand √64 = ${length} lang, und jede Norm verkleinert, was vorher da war: Nach ${blocks(n)} sind nur ${left} des Zustands übrig vom Embedding von ${token}. Pre-Norm lässt die Residualverbindung frei: Der Zustand wächst auf ${grown}, und ${whole} davon sind noch das Embedding. Auf demselben Weg kommt der Gradient zurück; darum lassen sich tiefe Pre-Norm-Modelle leichter trainieren.`,
    noResidual: (token, n, pre, post) =>
      `Ohne Residualverbindungen geht von ${token} selbst nichts weiter; die Attention mittelt alle Tokens, und nach ${blocks(n)} sind sie fast derselbe Vektor: Kosinus ${pre} (Pre-Norm) und ${post} (Post-Norm).`,
    noNorm: (n, token, length) =>
      `Ohne Norm sind beide derselbe Encoder, und nichts hält die Summen auf einem Maßstab: Nach ${blocks(n)} ist der Zustand von ${token} ${length} lang.`,
    neither: (token, length, all, few, alike) =>
      `Ohne beides schwindet der Zustand von ${token} auf die Länge ${length} nach ${blocks(all)}, und schon nach ${few} sind alle Tokens einander fast gleich (Kosinus ${alike}).`,
  },
  ffn: {
    headline: (name, on, n) => [`${on} der ${n} Einheiten des Feed-forward-Netzes sind für `, name, " an."],
    note: (d, wide) =>
      `${d} → ${wide} → ${d} Zahlen, jedes Token für sich: Hier schaut keines auf ein anderes. Eine Einheit ist an, wo ihre Aktivierung über 0 liegt.`,
    units: "Alle Einheiten, nach der Aktivierung",
    curve: (name) => `Die Aktivierung, ${name}: Eingabe waagrecht, Ausgabe senkrecht; ein Punkt je Einheit`,
    strongest: "Stärkste Einheiten: davor und danach",
    out: "Ausgabe des FFN",
    before: (name) => `vor ${name}`,
    after: (name) => `nach ${name}`,
  },
  depth: {
    headline: (name, label, share, blocks) => [
      `Nach ${blocks === 1 ? "1 Block" : `${blocks} Blöcken`} sagt das Modell `,
      label,
      ...(name ? [" für ", name] : [" für die ganze Eingabe"]),
      ` (${share}).`,
    ],
    note: "Der Vorhersagekopf, angewandt auf den Vektor nach jedem Block, gibt jeder möglichen Antwort einen Wert, ihren Logit; ein Softmax über diese macht daraus Wahrscheinlichkeiten. Trainiert wurde der Kopf nur auf dem Vektor nach dem letzten Block; die früheren abzulesen, hat er nie gelernt.",
    none: "Dieses Modell hat keinen trainierten Vorhersagekopf; nach einem Block ist also keine Antwort abzulesen.",
    mask: "Schreib [MASK] in den Text und klicke es an: Dort gibt das Modell seine Antwort.",
    blocks: "Blöcke",
    answers: "wahrscheinlichste Antworten",
    play: "Abspielen",
  },
  turned: {
    title: (key, query) => `Was ${key} mit dem Vektor von ${query} macht`,
    turns: "1 − Kosinus",
    said: (key, query, n, by) =>
      `Ist ${key} vor allen Tokens verborgen, dreht sich der Vektor von ${query} um ${by} (1 − Kosinus) in ${blocks(n)}. Das Embedding weiß von keinem anderen Token; die Attention bringt den Kontext hinein.`,
  },
  knockout: {
    flips: (words) => [`Ohne ${words.join(" oder ohne ")} ist die Antwort eine andere.`],
    headline: (word) => ["Ohne ", word, " ändert sich die Antwort am meisten."],
    turns: (word) => ["Ohne ", word, " dreht sich der Ausgabevektor am meisten."],
    same: "Ein Token nach dem anderen ausschalten: Welches ändert die Antwort?",
    note: "Ein Token nach dem anderen wird vor jedem Token verborgen, und das Modell läuft noch einmal: Das misst die Wirkung des Ausschaltens. Attention und Wirkung müssen nicht übereinstimmen.",
    patches: "Einen Patch nach dem anderen ausschalten: Ohne welchen dreht sich der Vektor am meisten?",
    start: "Jedes Token ausschalten",
    startPatches: "Jeden Patch ausschalten",
    token: "Token",
    attention: (head) => `Attention, Kopf ${head}`,
    effect: "Wirkung des Ausschaltens",
    answer: "Antwort ohne es",
    likely: (answer, share) => `Die Wirkung ist die Änderung der Wahrscheinlichkeit von ${answer}; sie ist ${share}.`,
    turned: "Die Wirkung ist, wie weit sich der gepoolte Vektor dreht (1 − Kosinus).",
  },
  carried: {
    title: "Was die Antwort getragen hat",
    note: "Hält man die Attention-Gewichte (und die Divisoren der Normen) fest, wie sie waren, ist diese Zahl eine Summe: Jedes Token trägt einen Anteil bei.",
    score: (answer, rival) => `Logit von ${answer} − Logit von ${rival}`,
    vector: "Länge des gepoolten Vektors",
    token: "Token",
    here: "Anteil",
    there: (word, old) => `mit ${word} statt ${old}`,
    biases: "alle Biaswerte",
    sum: "Summe",
    none: "Zu keinem Wort ist ein Gegenstück bekannt, das diese Antwort ändern würde.",
  },
  masks: {
    headline: (now, was) =>
      now === was
        ? ["Mit dieser Maske sagt das Modell immer noch ", now, "."]
        : ["Mit dieser Maske sagt das Modell ", now, "; ohne sie ", was, "."],
    plain: "Wer darf wohin schauen? Wähle eine Maske, und das Modell läuft damit noch einmal.",
    alone:
      "Wer darf wohin schauen? Wähle eine Maske und sieh, wie weit Information damit wandern kann; dieser Lauf hat keine Antwort zu vergleichen.",
    done: "Das Modell ist mit dieser Maske gelaufen.",
    note: "Eine Zeile ist eine Query (das Token, das schaut), eine Spalte ein Key (das Token, auf das geschaut wird); ein gefülltes Feld ist erlaubt. Die Maske begrenzt jede Schicht; über mehrere Schichten kann Information trotzdem weiter wandern. Die kausale Maske macht den Decoder aus: Er schreibt von links nach rechts, und wo er übersetzt, schaut er mit Cross-Attention auch auf die Ausgaben eines Encoders. Ein Encoder schaut nach beiden Seiten.",
    kinds: { none: "keine Maske", causal: "kausal", window: "Fenster" },
    width: "Tokens nach jeder Seite",
    reach: "Information, die dieses Token erreicht haben kann:",
    reached: (layers, known, all, names) =>
      `nach ${layers} ${layers === 1 ? "Block" : "Blöcken"} von ${known} der ${all} Tokens${names && `: ${names}`}`,
    grid: "Die Maske",
    padding: "Ein Batch mit echtem [PAD] (Reiter Masks)",
    bugs: "Finde den Fehler in zehn Masken (Quiz von Masks)",
  },
  pooling: {
    headline: (n, d) => [`Ein Vektor von ${d} Zahlen für ${n} Tokens: [CLS] allein, oder das Mittel von allen?`],
    note: "Das Mittel wird Zahl für Zahl über die echten Tokens genommen. [PAD] darf nicht mitzählen; [CLS] ist der Vektor eines einzigen Tokens.",
    notePicture:
      "Das Mittel wird Zahl für Zahl über [CLS] und alle Patches genommen; ein Bild wird nie aufgefüllt. [CLS] ist der Vektor eines einzigen Tokens.",
    pad: (n) => `${n} [PAD] an den Text anhängen, wie in einem Batch`,
    unpad: "Wieder ohne [PAD]",
    counted: "[PAD] aus Versehen mitzählen",
    left: (n) => `Auch die ${n} [PAD] haben Vektoren, aber in den Mittelwert gehen sie nicht ein.`,
    moved: (n, share) =>
      `Mit ${n} gezählten [PAD] verschiebt sich der Mittelwert um ${share} seiner Länge: Der Vektor hängt nun vom Rest des Batches ab.`,
    mean: "Mittel",
    first: "erstes Token",
    max: "Maximum",
    vectors: "Die Ausgabevektoren der ersten Tokens und drei Arten, sie zu poolen",
    others: (n) => (n === 1 ? "1 weiteres Token" : `${n} weitere Tokens`),
  },
  build: {
    headline: (total) => ["Ein Encoder dieser Größe hat ", total, " Gewichte."],
    note: "Ändere eine Größe und sieh, was sie kostet. Der Encoder kann sofort laufen, mit zufälligen Gewichten: Gelernt hat er nichts.",
    run: "Untrainiert auf dem Text laufen lassen",
    runPicture: "Untrainiert auf dem Bild laufen lassen",
    registers:
      "Vor den Patches stehen [CLS] und die Register: Tokens ohne Pixel, jedes mit einem eigenen Vektor. Beim Training lernt [CLS], zu sammeln, was nach dem Bild gefragt wird; Register geben den Blöcken einen Platz für das, was zu keinem Patch gehört (Darcet et al., 2024).",
    save: "Als Ordner speichern (.zip), für vz.load",
    large: (most) => `Zu groß, um hier zu laufen: höchstens ${most} Gewichte.`,
    fields: {
      reads: "liest",
      image: "Bild, Pixel",
      patch: "Patch P",
      registers: "Register",
      V: "Vokabular V",
      d_model: "Breite D",
      n_layers: "Schichten L",
      n_heads: "Köpfe h",
      d_ff: "Breite des FFN D_ff",
      T: "Tokens T",
      positions: "Positionen",
      norm: "Norm",
      activation: "Aktivierung",
    },
    presets: { small: "klein", base: "base", original: "10.000 Wörter, Breite 512" },
    choices: {
      text: "Texte",
      image: "Bilder",
      sinusoidal: "Sinus",
      learned: "gelernt",
      rotary: "Rotation (RoPE)",
      relative: "relativ",
      none: "keine",
      post: "Post-Norm",
      pre: "Pre-Norm",
    },
    parts: {
      "token embeddings": "Token-Embeddings",
      "segment embeddings": "Segment-Embeddings",
      "patch embedding": "Patch-Embedding",
      "prefix tokens": "vorangestellte Tokens",
      "position embeddings": "Positions-Embeddings",
      "embedding norm": "Norm der Embeddings",
      "projection to d_model": "Abbildung auf d_model",
      "attention: W_q, W_k, W_v, W_O": "Attention: W_q, W_k, W_v, W_O",
      "feed-forward network": "Feed-forward-Netz",
      norms: "Normen",
      "relative positions": "relative Positionen",
      "final norm": "letzte Norm",
      "prediction heads": "Vorhersageköpfe",
    },
    part: "Teil",
    formula: "Formel",
    count: "Gewichte",
    total: "zusammen",
    curve: "Multiplikationen in einer Schicht, je nach Zahl der Tokens",
    scores: "Scores und gewichtete Summe: 2·T²·D",
    ffn: "FFN: 2·T·D·D_ff",
    projections: "q, k, v und W_O: 4·T·D²",
    beside: "Andere Schichten anstelle der Attention",
    besideNote:
      "Wie die Kosten einer Schicht der Breite D wachsen, ohne konstante Faktoren, wie bei Vaswani et al. (2017, Tabelle 1). Eine Faltung liest k = 3 Nachbarn auf einmal, eine rekurrente Schicht ein Token nach dem anderen. Was nacheinander kommt, kann nicht parallel laufen; der längste Weg zählt die Schichten oder Schritte, die höchstens zwischen zwei Tokens liegen: 1, etwa T/k, T.",
    channels: "Kanäle",
    besideColumns: ["Schicht", "Multiplikationen", "Schritte nacheinander", "längster Weg"],
    besideLayers: { attention: "Attention, T²·D", convolution: "Faltung, k·T·D²", recurrent: "rekurrent, T·D²" },
    meet: (equal, T, sign) =>
      `Die Scores und die gewichtete Summe kosten bei T = ${equal} so viel wie das FFN; dein T = ${T} liegt ${["darunter", "genau dort", "darüber"][sign + 1]}.`,
  },
  exercise: {
    title: "Deine Aufgabe",
    check: "Prüfen",
    right: "Richtig. ",
    not: "Nicht richtig. ",
    next: "Nächste Frage",
    answer: "Deine Antwort",
    give: "Antwort zeigen",
    hint: "Tipp",
    is: (answer) => `Die Antwort ist ${answer}. `,
    none: "Zu diesem Schritt gibt es bei diesem Modell keine Frage.",
    number: "Schreib eine Zahl, etwa 0,42.",
    code: (code) => `Ergebnis zum Abgeben: ${code}`,
    score: (right, all) => `${right} von ${all} Antworten richtig`,
    level: (place) => `Frage ${place}`,
  },
  switches: {
    title: "In diesem Modell",
    untrained: "(so wurde es nicht trainiert)",
    here: "In deinem Browser, ohne dass das Modell läuft",
    gone: "Die Schalter lassen das Modell neu laufen, aber keines hier ergibt diesen Lauf: Er wurde aufgezeichnet oder aus einer Datei geöffnet.",
    off: "Das ist ein neuer Lauf, mit dem Modell wie trainiert: Die Schalter stehen wieder wie zuvor.",
    divide: "durch √d_head teilen",
    causal: "Maske: kausal",
    head: (head) => `Kopf ${head} herausnehmen`,
    positions: "Positionen auf null setzen",
    hide: (word) => `${word} vor allen Tokens verbergen`,
  },
  file: {
    title: "Der Weg eines Tokens durch einen Encoder",
    text: "Text",
    run: "Rechnen",
    seat: "Platz",
    open: "Öffnen",
    words: (n) => `Die ${n} Wörter, die dieses Modell kennt`,
    empty: "Schreib zuerst einen Text.",
    unknown: (words) => `Das Modell kennt ${words} nicht und liest dort [UNK].`,
    cut: (n, most) =>
      n === 1
        ? `Das Modell liest ${most} Tokens; das letzte wurde abgeschnitten.`
        : `Das Modell liest ${most} Tokens; die letzten ${n} wurden abgeschnitten.`,
    padding: "[PAD] ist Padding: Kein Token schaut hin. Soll es als Wort gelesen werden, schreib \\[PAD].",
    noSeat: (seat, seats) => `Platz ${seat} fehlt in dieser Datei; sie hat ${seats || "keine"}.`,
    changed: "Geänderter Lauf",
    causal: "kausale Maske",
    head: (head) => `Kopf ${head} herausgenommen`,
    positions: "Positionen auf null gesetzt",
    hidden: (word) => `${word} verborgen`,
    undo: (what) => `Rückgängig: ${what}`,
    restore: "Zurücksetzen",
    answer: (was, now) => `Die Antwort war ${was}; jetzt ist sie ${now}.`,
    agrees: (error) =>
      `Alle Zahlen werden in deinem Browser gerechnet. Für den Satz der Lektion stimmen die Ausgaben auf ${error} des größten Werts mit denen von PyTorch überein.`,
    differs: (error) =>
      `Die Zahlen dieses Browsers weichen um ${error} des größten Werts von denen von PyTorch ab und werden deshalb nicht gezeigt. Nimm einen anderen Browser.`,
    alone:
      "Diese Datei braucht kein Netz und kein Python und speichert nichts. Für andere Modelle, für Bilder und um einen eigenen Encoder laufen zu lassen oder zu speichern, nimm viz-encoder.",
    tokens:
      "Dieses Modell kennt nur ganze Wörter: Jedes andere Wort wird zu [UNK]. Der Tokenizer fügt [CLS] und [SEP] hinzu. Ein Klick auf ein Token verfolgt es durch den Encoder.",
    questions:
      "Diese Datei hat Fragen zum Satz der Lektion und zu den Sätzen ihrer Plätze, solange am Lauf nichts geändert ist.",
    build: "Diese Datei zählt die Gewichte. Um so einen Encoder laufen zu lassen oder zu speichern, nimm viz-encoder.",
  },
};
