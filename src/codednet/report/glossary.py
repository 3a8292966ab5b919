"""The words of a report."""

GLOSSARY: tuple[tuple[str, str], ...] = (
    ("branch", "One of the parallel parts of a block, whose outputs are added. A block has 10 to 32 of them."),
    ("coded block", "A block whose branches are assigned to classes by a code; the others serve every class alike."),
    (
        "word, codeword",
        "The row of zeros and ones of one class: a one for each branch that works for the class, a zero for the "
        "others.",
    ),
    ("code", "The words of all classes for one block. It is fixed before training."),
    ("active, inactive", "A branch is active for the classes whose word has a one for it, inactive for the others."),
    ("rate", "Active branches of a word divided by all branches of the block, such as 3/10."),
    ("distance", "Number of places in which two words differ; the minimum distance is that of the closest two."),
    ("load", "Number of classes that a branch serves. A good code has even loads."),
    (
        "energy",
        "Mean square of a branch's output for an image, after all branches of the block are scaled so that their "
        "energies sum to the number of branches.",
    ),
    (
        "coding loss",
        "What pulls the energies towards the word of the image's class in training; mu is its weight beside the "
        "usual loss.",
    ),
    ("drop branch", "In training, each branch is left out of a coded block with this probability."),
    ("class path", "All that works for one class: its active branches of every coded block, and what all share."),
    ("extracted network", "The network of one class path or of a few, cut out without further training."),
    (
        "detector",
        "The extracted network of one class with a threshold: it says yes to images that score at least that.",
    ),
    ("early decoder", "The guess after a coded block: the class whose word is nearest to the block's energies."),
    ("joint decoder", "One guess from the energies of all coded blocks read so far, weighed by what each is worth."),
    ("agreement", "How many early decoders name the class that the whole network names in the end."),
    ("exit", "Stopping after a coded block, without evaluating the rest, when the guess is sure enough."),
    ("plain twin, baseline", "The same network without codes, trained by the same recipe on the same images."),
    ("images of no class, strangers", "Images of another data set, which belong to none of the classes."),
    ("precision", "Of the images that a detector says yes to, the share that is of its class."),
    ("recall", "Of the images of the class, the share that its detector says yes to."),
    ("F1", "Harmonic mean of precision and recall. AP, average precision, averages over all thresholds."),
    (
        "AUROC, FPR95",
        "Chance that a stranger scores as stranger than one's own image; share of strangers that pass where 95 % of "
        "one's own do.",
    ),
    ("calibration", "Making a confidence mean what it says: of images at 80 %, 80 % should be right."),
    (
        "ECE, MCE",
        "Expected and maximum calibration error: the gap between confidence and accuracy, on average over bins of "
        "confidence and in the worst of them.",
    ),
    (
        "h_T, h_aug",
        "Softmax with a fitted temperature; the second one's temperature also depends on which early decoders agree.",
    ),
    (
        "split",
        "train is what the network learned from; tune-fit and tune-risk were kept from it, to fit and to choose on; "
        "test is what numbers are measured on.",
    ),
    ("multiply-adds", "Multiplications, each with its addition, of one image through the network."),
)  # fmt: skip
