// The words of the lesson in English; every other language is a file with the same keys.

import { AXES } from "../core/labels.js";
import { SCREEN } from "../views/full_screen.js";
import { CHOICE } from "../views/token_choice.js";

const blocks = (/** @type {number} */ n) => (n === 1 ? "1 block" : `${n} blocks`);

export const EN = {
  language: "English",
  languages: "Language of the lesson",
  decimal: ".",
  quotes: ["“", "”"],
  bar: "Steps of the lesson",
  spine: "Parts of one block",
  steps: {
    tokens: "Tokens",
    embedding: "Embedding",
    projection: "q, k, v",
    attention: "One head, one token",
    heads: "Heads, W_O",
    residual: "Residual, norm",
    ffn: "FFN",
    depth: "Depth",
    knockout: "Knock-out",
    masks: "Masks",
    pooling: "Pooling",
    build: "Build your own",
  },
  stages: {
    x: "x",
    norm_attention: "norm",
    qkv: "q, k, v",
    scores: "scores",
    softmax: "softmax",
    values: "Σ α · v",
    output: "W_O",
    residual_attention: "+ residual",
    norm_ffn: "norm",
    ffn: "FFN",
    residual_ffn: "+ residual",
    norm_final: "final norm",
  },
  block: {
    attention: "Multi-head attention",
    bypass: "residual",
    dropout: "dropout",
    dropoutSays:
      "Dropout sets some of the numbers to 0, at random, while a model is trained. In a run it does nothing.",
    pre: "pre-norm",
    post: "post-norm, Add & Norm",
    play: "▶ Play its way",
    next: "Next part",
    x: (/** @type {string} */ token, /** @type {number} */ n) => `the vector of ${token} after ${blocks(n)}.`,
    query: (/** @type {string} */ head) => `three linear maps of it in each head; here, the query of head ${head}.`,
    scores: (/** @type {string} */ head) =>
      `that query times the key of each token, in head ${head}: a number for each token.`,
    out: (/** @type {number} */ n) => `the sum that goes on, the vector after ${blocks(n)}.`,
    says: /** @type {Record<string, string>} */ ({
      norm_attention: "brings its numbers to a common scale.",
      softmax: "makes weights of the scores: positive, with sum 1.",
      values: "the values, each times its weight, added up; all heads side by side.",
      output: "mixes what the heads found.",
      residual_attention: "the vector that came in, plus what attention found.",
      norm_ffn: "to a common scale again.",
      ffn: "widens it, applies the activation, and narrows it; no other token plays a part.",
      norm_final: "once more to scale, after the last block.",
    }),
  },
  keys: "Space: next step · ← → layer · ↑ ↓ head",
  keysTitle: "Space or Page Down: next step. Shift + Space or Page Up: previous step. Arrow keys: layer and head.",
  lesson: "Open the lesson’s own sentence",
  untrained: (/** @type {number} */ layers, /** @type {number} */ heads) =>
    `This is the encoder of step 12, ${layers} × ${heads} heads, untrained: its weights are random, and it has learned nothing.`,
  missing: "This step is not shown here: ",
  agrees: (/** @type {string} */ error) =>
    `Every number is recomputed from the run’s own values; it matches what ran to within ${error} of the largest.`,
  here: "Changed here, in your browser; the model did not run with this.",
  reset: "Back to what ran",
  waiting: "Computing …",
  axes: AXES,
  choice: CHOICE,
  screen: SCREEN,
  /** Sentences of the server, and how they are said; it speaks English. */
  server: /** @type {[said: RegExp, put: (...parts: string[]) => string][]} */ ([]),
  serverSays: "",
  vectors: {
    length: "length",
    strip: (/** @type {string} */ name, /** @type {number} */ n) =>
      `${name}, ${n} numbers. Click to choose which are printed.`,
  },
  tokens: {
    headline: (/** @type {string} */ n) => `The model reads ${n} tokens, each as its number in the vocabulary.`,
    picture: (/** @type {string} */ n) => `The model reads ${n} tokens: the patches of the picture, row by row.`,
    note: "A word that is not in the vocabulary is split into pieces (## marks one that continues a word); a model that knows whole words only reads [UNK] instead. The tokenizer adds the special tokens. Click a token to follow it through the encoder.",
    pictureNote: (/** @type {number} */ rows, /** @type {number} */ cols, /** @type {string} */ names) =>
      `The picture is cut into ${rows} × ${cols} patches, read row by row. ${names && `Prefix tokens, which have no pixels, come first: ${names}. [CLS] collects what the prediction needs; register tokens, if any, hold what belongs to no single patch. `}Click a patch to follow it through the encoder.`,
    more: (/** @type {number} */ n) =>
      n === 1 ? "1 more token is not listed here." : `${n} more tokens are not listed here.`,
    named: (/** @type {string} */ n) => `The model reads ${n} tokens.`,
    namedNote:
      "This run has the names of its tokens, but not their ids. Click a token to follow it through the encoder.",
    position: "position",
    id: "id",
    grid: (/** @type {number} */ rows, /** @type {number} */ cols) => `The picture in ${rows} × ${cols} patches`,
    patch: (/** @type {number} */ at, /** @type {number} */ row, /** @type {number} */ col) =>
      `Token ${at}: the patch in row ${row}, column ${col} (both from 0), and its pixels`,
    before: (/** @type {string} */ name) =>
      `${name} stands before the patches and has no pixels: its vector is learned.`,
  },
  map: {
    title: "The whole encoder, and the steps about its parts",
    steps: (/** @type {string} */ about) => (about.length > 1 ? `steps ${about}` : `step ${about}`),
    tokens: "The text in pieces.",
    patches: "The picture in patches.",
    embedding: (/** @type {number} */ n) => `A vector of ${n} numbers for each, plus that of its position.`,
    vectors: "A vector for each, plus that of its position.",
    blocks: (/** @type {number} */ n) => (n === 1 ? "1 block" : `${n} blocks`),
    block: (/** @type {number} */ heads) =>
      `In each, attention with ${heads} heads brings together what the tokens tell each other; a feed-forward network then works on each token alone. Both add to what came in.`,
    units: (/** @type {number} */ n) => ` The network has ${n} units.`,
    end: "The end",
    answer: "The vectors after the last block give the answer, or are pooled to one vector.",
    taken: "What is taken away, or hidden by a mask, shows what mattered.",
    note: "An encoder reads the whole input at once, and each token may look at all others, on both sides. A decoder writes one token after the other, so each may only look back (step 10).",
  },
  embedding: {
    headline: (/** @type {string} */ name, /** @type {number} */ d) => [name, ` becomes ${d} numbers.`],
    note: "The token row is the same wherever the token stands; the position row is the same for every token at that position. They are added number by number.",
    noteAlone: "The token row is the same wherever the token stands.",
    token: (/** @type {number | null} */ id) => (id === null ? "patch vector" : `token id ${id}`),
    learned: (/** @type {string} */ name) => `learned ${name}`,
    notePatch:
      "The pixels of a patch times one matrix give its vector: equal pixels, equal vector. The position row says where the patch lies; it is the same for every picture.",
    notePrefix:
      "This vector is learned and the same for every picture; in the blocks it gathers what the patches tell.",
    position: (/** @type {number} */ at) => `position ${at}`,
    segment: "segment",
    sum: "sum",
    out: "after the norm",
    entering: "after 0 blocks",
    vectors: "Token vector, position vector and their sum",
    table: "The vectors of all positions",
    sines: "sines and cosines in their place, as in the first Transformer",
    tableSaid: (
      /** @type {number} */ rows,
      /** @type {number} */ n,
      /** @type {number} */ columns,
      /** @type {string} */ full,
    ) =>
      `Rows are the ${rows < n ? `first ${rows} of the ${n}` : rows} positions of this input, columns the ${columns} dimensions; red is above 0, blue below, in full color from ${full} on. Click a row to choose its token.`,
    tableCell: (/** @type {number} */ row, /** @type {number} */ column, /** @type {string} */ value) =>
      `Position ${row}, dimension ${column}: ${value}`,
  },
  order: {
    go: "Does the model know word order? Swap two words",
    said: (/** @type {string} */ one, /** @type {string} */ two, /** @type {string} */ on, /** @type {string} */ off) =>
      `${one} and ${two} swapped: with positions, the tokens’ output vectors change by ${on} of their length on average; without positions, by ${off}.`,
    blind: " So without positions, the model does not know the order of the words.",
    vectors: (/** @type {string} */ name) => `The output vector of ${name}, wherever it stands in each text`,
    rows: ["original", "swapped", "no positions", "no pos., swapped"],
  },
  projection: {
    headline: (/** @type {string} */ name, /** @type {string} */ head) => [
      "From the vector of ",
      name,
      `, head ${head} makes a query, a key and a value.`,
    ],
    note: (/** @type {number} */ d) =>
      `Each number of q is a sum of ${d} products: the vector times one column of the weight matrix W_q. All tokens get theirs at once; a recurrent network takes one token after the other. Click a number of q to see its sum.`,
    x: "x",
    column: (/** @type {number} */ dim) => `W_q, column ${dim}`,
    product: "product",
    sum: (
      /** @type {number} */ n,
      /** @type {string} */ products,
      /** @type {string} */ rest,
      /** @type {string | null} */ bias,
    ) =>
      `The largest of the ${n} products: ${products}. The others add up to ${rest}${bias === null ? "" : `, and the bias is ${bias}`}. Together: `,
    at: (/** @type {number} */ dim) => `cell ${dim}:`,
    q: (/** @type {string} */ name) => `q of ${name}: what it looks for`,
    k: (/** @type {string} */ name) => `k of ${name}: what others match it by`,
    v: (/** @type {string} */ name) => `v of ${name}: what it passes on`,
    before: "before it is rotated by its position",
    whole: "before the division by √d_head",
    vectors: "The vector, one column of W_q, and their products",
  },
  attention: {
    headline: (/** @type {string} */ query, /** @type {string} */ head, /** @type {string} */ key) => [
      "In head ",
      head,
      ", ",
      query,
      " attends most to ",
      key,
      ".",
    ],
    nothing: (/** @type {string} */ query) => [query, " may not attend to any token here."],
    products: (/** @type {string} */ query, /** @type {string} */ key) =>
      `1 · Multiply the query of ${query} by the key of ${key}, number by number, and add the products`,
    sum: (/** @type {number} */ n, /** @type {string} */ dot, /** @type {string} */ by) =>
      `Sum of the ${n} products = ${dot} → ${by} = `,
    spread: (
      /** @type {string} */ query,
      /** @type {string} */ wide,
      /** @type {string} */ by,
      /** @type {string} */ narrow,
    ) =>
      `Why ${by}: the scores of ${query} have a standard deviation of ${wide} before and ${narrow} after it. A sum of d products of independent numbers of variance 1 has variance d, so without it the softmax of a wide head would leave almost all weight to one key.`,
    minus: "A mask gives −∞ to the score of a key that is not allowed: e^−∞ = 0, so its weight is exactly 0.",
    bias: (/** @type {string} */ bias) => ` (including the bias ${bias} for this distance)`,
    softmax: "2 · The same for every key, then the softmax: e^score ÷ the sum of them all",
    values: "3 · Add up the values, each times its weight",
    q: (/** @type {string} */ name) => `q of ${name}`,
    k: (/** @type {string} */ name) => `k of ${name}`,
    number: (/** @type {number} */ at) => `Cell ${at}`,
    point: "Point at a column to see its product with four decimals.",
    columns: { key: "key", dot: "q·k", allowed: "allowed", exp: "e^(score − max)", weight: "weight" },
    drag: "drag",
    dragged: (/** @type {string} */ name) => `Score of ${name}; drag, or use ← and →`,
    look: (/** @type {string} */ name) => `May attend to ${name}`,
    undivided: "not divided",
    others: (/** @type {number} */ n, /** @type {string} */ share) =>
      n === 1 ? `1 other key has ${share}` : `${n} other keys share ${share}`,
    rest: (/** @type {number} */ n) => (n === 1 ? "1 other key" : `${n} other keys`),
    out: "sum",
    outOf: "The weighted values and their sum",
    long: "There are too many tokens to send their values; only the sum from the run is shown.",
    sinkNote: (/** @type {string} */ share) => `A share of ${share} goes to no token in this model (a softmax sink).`,
  },
  removed: {
    title: "4 · Looking is not doing: take the head away, and see what the model says",
    head: "without head",
    weight: (/** @type {string} */ key) => `its weight on ${key}`,
    answer: "the model says",
    turned: "the vector turns by (1 − cosine)",
    looks: (
      /** @type {string} */ head,
      /** @type {string} */ key,
      /** @type {string} */ weight,
      /** @type {string} */ left,
      /** @type {string} */ other,
      /** @type {string} */ then,
      /** @type {boolean} */ flips,
    ) =>
      `Head ${head} gives ${key} ${weight}, and without it the model says ${left}. Without head ${other}, ${flips ? "the answer is another" : "least is left of the answer"}: ${then}.`,
    both: (/** @type {string} */ head, /** @type {string} */ key, /** @type {string} */ then) =>
      `Head ${head} looks at ${key}, and the answer depends on it: without it, ${then}.`,
    none: (/** @type {string} */ head) =>
      `No head changes the answer alone: others can do the same. Head ${head} matters most.`,
    turns: (
      /** @type {string} */ head,
      /** @type {string} */ key,
      /** @type {string} */ weight,
      /** @type {string} */ by,
      /** @type {string} */ other,
      /** @type {string} */ most,
    ) =>
      head === other
        ? `Head ${head} gives ${key} ${weight}, and no other head turns the vector as much: by ${most}.`
        : `Head ${head} gives ${key} ${weight}, and without it the vector turns by ${by}; without head ${other}, by ${most}.`,
  },
  heads: {
    headline: (/** @type {string} */ name, /** @type {string} */ head) => [
      "What each head adds to ",
      name,
      `: head ${head} adds the longest vector in this block.`,
    ],
    note: "Each head’s sum is multiplied by its own part of the matrix W_O. The results add up to the layer’s attention output. Click a head to choose it.",
    head: (/** @type {number} */ layer, /** @type {number} */ head) => `head ${layer}.${head}`,
    bias: "bias of W_O",
    sum: "attention output",
    vectors: "Each head’s part and their sum",
  },
  residual: {
    headline: (/** @type {string} */ name, /** @type {string} */ from, /** @type {string} */ to) => [
      "In this block, the vector of ",
      name,
      ` goes from length ${from} to ${to}.`,
    ],
    note: "Attention and the FFN each add to the vector that came in; they do not replace it. A norm brings the numbers of one token back to a common scale; BatchNorm would take its mean and σ over a batch, so that its other inputs would matter. The first Transformer and BERT are post-norm.",
    stages: "The vector after each part of the block",
    norm: (/** @type {string} */ kind, /** @type {string} */ mean, /** @type {string} */ std) =>
      mean
        ? `${kind}: subtract the mean ${mean}, divide by σ = ${std}, then multiply by γ and add β`
        : `${kind}: divide by the root mean square ${std}, then multiply by γ`,
    one: (/** @type {number} */ dim) => `Cell ${dim}: `,
  },
  placement: {
    title: "Pre-norm and post-norm side by side, untrained",
    residualOff: "residual off",
    normOff: "norm off",
    post: "post-norm",
    blocks: "after blocks",
    columns: ["length", "left", "alike"],
    note: "Two small encoders of 12 blocks, 64 wide, with the same random weights (Xavier), read these tokens; nothing here was trained. “Left” is the length of what is left of the embedding, by the residual connections alone, as a part of the state’s length. “Alike” is its mean cosine to the states of the other tokens.",
    both: (
      /** @type {string} */ token,
      /** @type {string} */ length,
      /** @type {number} */ n,
      /** @type {string} */ left,
      /** @type {string} */ grown,
      /** @type {string} */ whole,
    ) =>
      `Post-norm puts each sum to scale, so every state is √64 = ${length} long, and each norm shrinks what came before: after ${blocks(n)}, only ${left} of the state is left of the embedding of ${token}. Pre-norm leaves the residual path alone: the state grows to ${grown}, and ${whole} of it is still the embedding. Gradients come back by the same path, so deep pre-norm models are easier to train.`,
    noResidual: (
      /** @type {string} */ token,
      /** @type {number} */ n,
      /** @type {string} */ pre,
      /** @type {string} */ post,
    ) =>
      `Without the residual connections, nothing of ${token} itself goes on; attention averages all tokens, and after ${blocks(n)} they are nearly the same vector: cosine ${pre} (pre-norm) and ${post} (post-norm).`,
    noNorm: (/** @type {number} */ n, /** @type {string} */ token, /** @type {string} */ length) =>
      `Without norms both are the same encoder, and nothing keeps the sums to scale: after ${blocks(n)}, the state of ${token} is ${length} long.`,
    neither: (
      /** @type {string} */ token,
      /** @type {string} */ length,
      /** @type {number} */ all,
      /** @type {number} */ few,
      /** @type {string} */ alike,
    ) =>
      `Without either, the state of ${token} fades to length ${length} after ${blocks(all)}, and after only ${few} all tokens are nearly alike (cosine ${alike}).`,
  },
  ffn: {
    headline: (/** @type {string} */ name, /** @type {number} */ on, /** @type {number} */ n) => [
      `${on} of the ${n} units of the feed-forward network are on for `,
      name,
      ".",
    ],
    note: (/** @type {number} */ d, /** @type {number} */ wide) =>
      `${d} → ${wide} → ${d} numbers for each token by itself; no other token plays a part here. A unit is on if its activation is above 0.`,
    units: "All units, after the activation",
    curve: (/** @type {string} */ name) => `The activation, ${name}: input across, output up; one dot per unit`,
    strongest: "Strongest units: before and after",
    out: "FFN output",
    before: (/** @type {string} */ name) => `before ${name}`,
    after: (/** @type {string} */ name) => `after ${name}`,
  },
  depth: {
    headline: (
      /** @type {string} */ name,
      /** @type {string} */ label,
      /** @type {string} */ share,
      /** @type {number} */ blocks,
    ) => [
      `After ${blocks} ${blocks === 1 ? "block" : "blocks"}, the model says `,
      label,
      ...(name ? [" for ", name] : [" of the whole input"]),
      ` (${share}).`,
    ],
    note: "The prediction head, applied to the vector after each block, gives every possible answer a score, its logit; a softmax over these turns them into probabilities. The head was trained on the last block’s vector only; what it says of the earlier ones is a reading it never learned.",
    none: "This model has no trained prediction head, so there is no answer to read after each block.",
    mask: "Type [MASK] in the text and click it: the model gives its answer there.",
    blocks: "blocks",
    answers: "most likely answers",
    play: "Play",
  },
  turned: {
    title: (/** @type {string} */ key, /** @type {string} */ query) => `What ${key} does to the vector of ${query}`,
    turns: "1 − cosine",
    said: (/** @type {string} */ key, /** @type {string} */ query, /** @type {number} */ n, /** @type {string} */ by) =>
      `With ${key} hidden from all tokens, the vector of ${query} turns by ${by} (1 − cosine) in ${blocks(n)}. The embedding knows of no other token; attention brings the context in.`,
  },
  knockout: {
    flips: (/** @type {string[]} */ words) => [`Hiding ${words.join(" or ")} changes the answer.`],
    headline: (/** @type {string} */ word) => ["Hiding ", word, " changes the answer the most."],
    turns: (/** @type {string} */ word) => ["Hiding ", word, " turns the output vector the most."],
    same: "Hide one token at a time: which one changes the answer?",
    note: "Each token in turn is hidden from every token, and the model runs again: that measures the effect of hiding it. Attention and effect need not agree.",
    patches: "Hide one patch at a time: without which one does the vector turn the most?",
    start: "Hide each token",
    startPatches: "Hide each patch",
    token: "token",
    attention: (/** @type {string} */ head) => `attention, head ${head}`,
    effect: "effect of hiding it",
    answer: "answer without it",
    likely: (/** @type {string} */ answer, /** @type {string} */ share) =>
      `The effect is the change in the probability of ${answer}, which is ${share}.`,
    turned: "The effect is how far the pooled vector turns (1 − cosine).",
  },
  carried: {
    title: "What carried it",
    note: "Hold the attention weights (and the norms’ divisors) as they were, and this number is a sum: each token brings a share of it.",
    score: (/** @type {string} */ answer, /** @type {string} */ rival) => `logit of ${answer} − logit of ${rival}`,
    vector: "length of the pooled vector",
    token: "token",
    here: "share",
    there: (/** @type {string} */ word, /** @type {string} */ old) => `with ${word} for ${old}`,
    biases: "all biases",
    sum: "sum",
    none: "No word’s counterpart is known that would change this answer.",
  },
  masks: {
    headline: (/** @type {string} */ now, /** @type {string} */ was) =>
      now === was
        ? ["With this mask, the model still says ", now, "."]
        : ["With this mask, the model says ", now, "; without it, ", was, "."],
    plain: "Which token may attend to which? Choose a mask, and the model runs again with it.",
    alone:
      "Which token may attend to which? Choose a mask and see how far information can travel with it; this run has no answer to compare.",
    done: "The model ran with this mask.",
    note: "A row is a query (the token that looks), a column a key (the token that is looked at); a filled cell is allowed. The mask limits each layer; over several layers, information can still travel farther. A causal mask is what makes a decoder: it writes from left to right, and where it translates, cross-attention also looks at an encoder’s outputs. An encoder looks both ways.",
    kinds: { none: "no mask", causal: "causal", window: "window" },
    width: "tokens to each side",
    reach: "Information that can have reached this token:",
    reached: (
      /** @type {number} */ layers,
      /** @type {number} */ known,
      /** @type {number} */ all,
      /** @type {string} */ names,
    ) => `after ${layers} ${layers === 1 ? "block" : "blocks"}, from ${known} of ${all} tokens${names && `: ${names}`}`,
    grid: "The mask",
    padding: "A batch with real [PAD] (Masks tab)",
    bugs: "Find the bug in ten masks (Quiz of Masks)",
  },
  pooling: {
    headline: (/** @type {number} */ n, /** @type {number} */ d) => [
      `One vector of ${d} numbers for ${n} tokens: [CLS] alone, or the mean of all?`,
    ],
    note: "The mean is taken number by number over the real tokens. [PAD] must be left out; [CLS] is one token’s vector.",
    notePicture:
      "The mean is taken number by number over [CLS] and all patches; a picture is never padded. [CLS] is one token’s vector.",
    pad: (/** @type {number} */ n) => `Add ${n} [PAD] to the text, as in a batch`,
    unpad: "Remove [PAD]",
    counted: "count [PAD] by mistake",
    left: (/** @type {number} */ n) => `The ${n} [PAD] have vectors too, but they are left out of the mean.`,
    moved: (/** @type {number} */ n, /** @type {string} */ share) =>
      `With ${n} [PAD] counted, the mean moves by ${share} of its length: the vector now depends on the rest of the batch.`,
    mean: "mean",
    first: "first token",
    max: "maximum",
    vectors: "The first tokens’ output vectors and three ways to pool them",
    others: (/** @type {number} */ n) => (n === 1 ? "1 other token" : `${n} other tokens`),
  },
  build: {
    headline: (/** @type {string} */ total) => ["An encoder of these sizes has ", total, " weights."],
    note: "Change a size and see what it costs. You can run the encoder right away, with random weights: it has learned nothing.",
    run: "Run it untrained on the text",
    runPicture: "Run it untrained on the picture",
    registers:
      "Before the patches come [CLS] and the registers: tokens without pixels, each a vector of its own. Training makes [CLS] gather what is asked about the picture; registers give the blocks a place to keep what belongs to no patch (Darcet et al., 2024).",
    save: "Save it as a folder (.zip), for vz.load",
    large: (/** @type {string} */ most) => `Too large to run here: at most ${most} weights.`,
    fields: {
      reads: "reads",
      image: "picture, pixels",
      patch: "patch P",
      registers: "registers",
      V: "vocabulary V",
      d_model: "width D",
      n_layers: "layers L",
      n_heads: "heads h",
      d_ff: "FFN width D_ff",
      T: "tokens T",
      positions: "positions",
      norm: "norm",
      activation: "activation",
    },
    presets: { small: "small", base: "base", original: "10,000 words, 512 wide" },
    choices: {
      text: "texts",
      image: "pictures",
      sinusoidal: "sinusoidal",
      learned: "learned",
      rotary: "rotary",
      relative: "relative",
      none: "none",
      post: "post-norm",
      pre: "pre-norm",
    },
    parts: {},
    part: "part",
    formula: "formula",
    count: "weights",
    total: "total",
    curve: "Multiplications in one layer, by number of tokens",
    scores: "scores and weighted sum: 2·T²·D",
    ffn: "FFN: 2·T·D·D_ff",
    projections: "q, k, v and W_O: 4·T·D²",
    beside: "Other layers in place of attention",
    besideNote:
      "How the cost of a layer of width D grows, without constant factors, as in Vaswani et al. (2017, table 1). A convolution reads k = 3 neighbors at once, a recurrent layer one token after the other. Sequential steps cannot run in parallel; the longest path is how many layers or steps lie between two tokens at most: 1, about T/k, T.",
    channels: "channels",
    besideColumns: ["layer", "multiplications", "sequential steps", "longest path"],
    besideLayers: { attention: "attention, T²·D", convolution: "convolution, k·T·D²", recurrent: "recurrent, T·D²" },
    meet: (/** @type {string} */ equal, /** @type {string} */ T, /** @type {number} */ sign) =>
      `The scores and the weighted sum cost as much as the feed-forward network at T = ${equal}; your T = ${T} is ${["below", "at", "above"][sign + 1]} it.`,
  },
  exercise: {
    title: "Your turn",
    check: "Check",
    right: "Right. ",
    not: "Not right. ",
    next: "Next question",
    answer: "Your answer",
    give: "Show the answer",
    hint: "Hint",
    is: (/** @type {string} */ answer) => `The answer is ${answer}. `,
    none: "There is no question for this step with this model.",
    number: "Type a number, such as 0.42.",
    code: (/** @type {string} */ code) => `result to hand in: ${code}`,
    score: (/** @type {number} */ right, /** @type {number} */ all) => `${right} of ${all} answers right`,
    level: (/** @type {string} */ place) => `question ${place}`,
  },
  switches: {
    title: "Change the model",
    untrained: "(it wasn't trained this way)",
    here: "In your browser, without running the model",
    gone: "The switches run the model again, but no model here gives this run: it was recorded, or opened from a file.",
    off: "This is a new run of the unchanged model, so the switches are reset.",
    divide: "divide by √d_head",
    causal: "mask: causal",
    head: (/** @type {string} */ head) => `remove head ${head}`,
    positions: "set the positions to zero",
    hide: (/** @type {string} */ word) => `hide ${word} from all tokens`,
  },
  // For the single-file lesson, which works without a server.
  file: {
    title: "One token’s way through an encoder",
    text: "Text",
    run: "Run",
    seat: "Seat",
    open: "Open",
    words: (/** @type {number} */ n) => `The ${n} words that this model knows`,
    empty: "Type a text first.",
    unknown: (/** @type {string} */ words) => `The model does not know ${words} and reads [UNK] instead.`,
    cut: (/** @type {number} */ n, /** @type {number} */ most) =>
      `The model reads ${most} tokens; ${n === 1 ? "the last one was" : `the last ${n} were`} cut.`,
    padding: "[PAD] is padding: no token attends to it. To have it read as a word, write \\[PAD].",
    noSeat: (/** @type {number} */ seat, /** @type {string} */ seats) =>
      `This file has no seat ${seat}; it has ${seats || "none"}.`,
    changed: "Changed run",
    causal: "causal mask",
    head: (/** @type {string} */ head) => `head ${head} removed`,
    positions: "positions set to zero",
    hidden: (/** @type {string} */ word) => `${word} hidden`,
    undo: (/** @type {string} */ what) => `Undo: ${what}`,
    restore: "Restore",
    answer: (/** @type {string} */ was, /** @type {string} */ now) => `The answer was ${was}; now it is ${now}.`,
    agrees: (/** @type {string} */ error) =>
      `All numbers are computed in your browser. For the lesson’s sentence, the outputs match PyTorch’s to within ${error} of the largest.`,
    differs: (/** @type {string} */ error) =>
      `This browser’s numbers differ from PyTorch’s by ${error} of the largest, so they are not shown. Try another browser.`,
    alone:
      "This file needs no network and no Python, and stores nothing. For other models, for pictures, and for running or saving an encoder of your own, use viz-encoder.",
    tokens:
      "This model knows whole words only: any other word becomes [UNK]. The tokenizer adds [CLS] and [SEP]. Click a token to follow it through the encoder.",
    questions:
      "This file has questions on the lesson’s sentence and on those of its seats, as long as nothing is changed in the run.",
    build: "This file counts the weights. To run or save such an encoder, use viz-encoder.",
  },
};

/** @typedef {typeof EN} Texts */
