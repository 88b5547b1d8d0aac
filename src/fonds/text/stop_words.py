"""Stop words by language: words that occur in every text and say nothing about its subject.

The lists contain function words (articles, pronouns, prepositions, conjunctions, auxiliaries),
frequent verbs, adverbs, numerals and nouns (`said`, `today`, `two`, `thing`), and fragments of
contractions. They are in lower case without accents, except for the Russian letter й.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from fonds.text.words import split_words

DEFAULT_LANGUAGE = "en"
LANGUAGE_WORDS_MIN = 2
"""Minimum number of different stop words of a language in a query that is written in it."""

_WORDS = {
    "en": """a about above after again against ain all almost also although always am among an and another
        any anyone anything are aren around as at away back be became because become been before began
        behind being below between beyond both but by came can cannot cant come comes could couldn d
        did didn do does doesn doing don done down during each either else enough even ever every
        everyone everything far few first for from further gave get gets getting give given go goes
        going gone got had hadn has hasn have haven having he her here hers herself him himself his how
        however i if in indeed instead into is isn it its itself just keep kept last later least less
        let like ll made make makes making many may maybe me might mightn mine more most much must
        mustn my myself near nearly need needn neither never next no nobody none nor not nothing now of
        off often on once one only onto or other others otherwise ought our ours ourselves out over own
        per perhaps quite rather re really s said same say saying says see seem seemed seems seen
        several shall shan she should shouldn since so some someone something sometimes soon still such
        t take taken takes taking than that the their theirs them themselves then there therefore these
        they thing things this those though three through thus to today together told too took toward
        towards two under unless until up upon us use used using ve very via want wants was wasn way we
        well went were weren what whatever when where whether which while who whoever whole whom whose
        why will with within without won would wouldn yes yesterday yet you your yours yourself
        yourselves arent cant couldnt didnt doesnt dont hadnt hasnt havent hes im isnt itll ive lets
        shes shouldnt thats theyre theyve wasnt werent weve whats wont wouldnt youll youre youve""",
    "de": """aber alle allem allen aller alles als also am an andere anderen anderer anderes auch auf aus
        bei beim bereits bin bis bist da dabei dadurch daher damit danach dann daran darauf daraus darf
        darin darum das dass davon dazu dein deine dem den denen denn der deren des dessen deshalb die
        dies diese diesem diesen dieser dieses doch dort du durch ein eine einem einen einer eines
        einige einigen einmal er erst es etwa etwas euch euer fur gab ganz gegen gegenuber gehen geht
        gibt hab habe haben hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren
        ihrer im immer in ins ist ja jede jedem jeden jeder jedes jedoch jener jetzt kann kein keine
        keinem keinen keiner konnen konnte konnten machen macht man mehr mein meine meisten mich mir
        mit mochte muss musse mussen musste nach nachdem nicht nichts noch nun nur ob oder ohne sagt
        sagte sehr sei seien sein seine seinem seinen seiner seit selbst sich sie sind so sogar solche
        soll sollen sollte sollten sondern sonst soweit statt uber um und uns unser unsere unter
        vergangenen viel viele vielen vom von vor wann war waren warum was weil weiter weitere weiteren
        welche welchem welchen welcher welches wenig wenn wer werde werden wie wieder will wir wird wo
        wobei wollen wollte worden wurde wurden zu zum zur zwar zwei zwischen zwolf""",
    "fr": """a afin ai ainsi alors apres au aucun aucune aujourd aupres auquel aussi autre autres aux avait
        avaient avant avec avez avoir avons beaucoup bien c car ce ceci cela celle celles celui
        cependant ces cet cette ceux chaque chez comme comment contre d dans de deja depuis des deux
        devant dit doit donc dont du durant elle elles en encore entre est et etaient etait etant ete
        etre eu eux fait faire fois font fut hui il ils j je jusqu l la laquelle le lequel les
        lesquelles lesquels leur leurs lors lorsque lui m ma mais me meme memes mes moi moins mon n ne
        ni non nos notre nous on ont ou par parce pas pendant peu peut plus plusieurs plutot pour
        pourquoi pres puis qu quand que quel quelle quelles quelque quelques quels qui quoi s sa sans
        se selon sera seront ses si son sont sous souvent sur t ta tandis tant te tel telle tes toi ton
        toujours tous tout toute toutes tres trop tu un une vers voici voila vos votre vous y""",
    "es": """a actualmente ademas ahi ahora al algo alguna algunas alguno algunos alli ambos ante antes
        aquel aquella aquellas aquellos aqui asi aun aunque bajo bien cada casi como con contra cual
        cuales cualquier cuando cuanto cuya cuyo de debe debido decir del desde despues dice dijo donde
        dos durante e el ella ellas ello ellos en encima entonces entre era eran eres es esa esas ese
        eso esos esta estaba estaban estado estamos estan estar estas este esto estos estoy fin fue
        fueron ha hace hacen hacer hacia han has hasta hay haya he hemos hubo incluso la las le les lo
        los luego mas me mediante menos mi mientras mis misma mismo mismos mucha muchas mucho muchos
        muy nada ni ningun ninguna no nos nosotros nuestra nuestro o os otra otras otro otros para
        parte pero poco por porque pues puede pueden que quien quienes se sea segun ser si sido siempre
        sin sino sobre sola solo son soy su sus tal tambien tampoco tan tanto te tenemos tener tenia ti
        tiene tienen toda todas todavia todo todos tras tu tus un una unas uno unos usted ustedes va
        van vez y ya yo""",
    "it": """a abbiamo ad adesso agli ai al alcuni alcuno alla alle allo allora altra altre altri altro
        anche ancora aveva avevano avere c che chi ci cioe come con contro cosa cosi cui d da dagli dai
        dal dalla dalle dallo degli dei del della delle dello dentro di dopo dove due dunque durante e
        ed era erano essa esse essere essi esso fa fare fino fra fu furono gia gli ha hai hanno ho i il
        in infatti inoltre invece io l la le lei li lo loro lui ma mai me meno mentre mi mia mio molti
        molto ne negli nei nel nella nelle nello nessuno no noi non nostra nostro o ogni oltre oppure
        ora per perche pero piu poco poi prima proprio puo qua qualche quale quali quando quanto quasi
        quella quelle quelli quello questa queste questi questo qui quindi se sei sembra sempre senza
        si sia siamo sono sopra sotto sta stata state stati stato stesso su sua sue sugli sui sul sulla
        sulle sullo suo suoi tale tanto te ti tra tu tua tuo tutta tutte tutti tutto un una uno verso
        vi voi""",
    "pt": """a acerca agora ainda alem algum alguma algumas alguns ali ambos ante antes ao aos apenas apos
        aquela aquelas aquele aqueles aquilo as assim ate atraves bem cada com como contra cuja cujo da
        das de dela delas dele deles depois desde dessa desse desta deste deve devem disse do dois dos
        durante e ela elas ele eles em enquanto entao entre era eram essa essas esse esses esta estao
        estar estas estava estavam este estes eu faz fazer foi foram ha isso isto ja la lhe lhes mais
        mas me mesma mesmo meu minha muita muito muitos na nas nao nem nenhum nessa nesse nesta neste
        no nos nossa nosso num numa o onde os ou outra outras outro outros para pela pelas pelo pelos
        perante pode podem pois por porem porque pouco quais qual quando quanto quase que quem sao se
        seja sem sempre sendo ser sera seu seus si sido sob sobre sua suas tal tambem tanto tao te tem
        temos tendo ter teve tinha toda todas todo todos tu tudo um uma umas uns voce voces""",
    "nl": """aan aangaande al alle alleen als altijd andere ander anders bij bijna binnen bovendien buiten
        daar daarna daarom dan dat de deze die dit doen doet door dus echter een eens elk elke en
        enkele er erg even ge geen geweest had hadden haar heb hebben heeft hem hen het hier hij hoe
        hun iemand iets ik in is ja je jij jou jouw jullie kan kon konden kunnen maar me meer men met
        mij mijn moet moeten na naar niet niets nog nu of om omdat ons onze onder ook op over reeds
        sinds sommige te tegen ten ter terwijl toch toen tot tussen u uit uw van vanaf veel voor vooral
        want waren was wat we wel werd werden wie wij wil worden wordt zal ze zei zelf zich zij zijn zo
        zoals zou zouden zonder""",
    "sv": """alla allt andra annan att av bara blev bli blir bland da dar darfor de dem den denna deras dess
        dessa det detta dig din du efter ej eller en ett fick fin finns for fran genom ha hade han hans
        har har henne hennes hon honom hos hur i icke ingen inget inom inte ja jag kan kom kommer kunde
        man med mellan men mer mig min mot mycket maste nagon nagot nagra nar ni nu och ocksa om oss pa
        redan sade samma sedan ser sig sin sina sitt ska skall skulle som sa sager till under upp ut
        utan vad var vara varit vem vi vid vilka vilken vill at over""",
    "ru": """а без более больше будет будто бы был была были было быть в вам вас вдруг ведь во вот впрочем
        все всегда всего всех всю вы где да даже два для до другой его ее если есть еще ж же за здесь и
        из или им иногда их к как какая какой когда конечно который которая которые которых кто куда ли
        лучше между меня мне много может можно мои мой моя мы на над надо наконец нас не него нее ней
        нельзя нет ни нибудь никогда ним них ничего но ну о об один он она они опять от перед по под
        после потом потому почти при про раз разве с сам свою себе себя сейчас со совсем так также
        такой там тебя тем теперь то тогда того тоже только том тот три тут ты у уж уже хорошо хоть
        чего чеи чей чем через что чтоб чтобы чуть эти этого этой этом этот эту это я""",
    "ar": """ابو احد اذا اكثر الا الان التي الذي الذين الى اليوم اما امام ان انا انت انه انها او اول اي ايضا
        بان بعد بعض بل بها به بين بينما تحت تكون تلك تم ثم جدا جميع حتى حول حين حيث خلال دون ذلك ذات
        سوف شيء ضد ضمن عبر عدد عدم على عليه عليها عن عند عندما غير فان فقد فقط في فيه فيها قال قالت قبل
        قد كان كانت كل كلا كما لا لان لدى لقد لكن لم لن له لها ليس ما مثل مع من منذ منه منها نحو نحن
        هذا هذه هل هم هنا هناك هو هي وان وفي وقال وقد وكان وكانت ولا ولم وما ومن وهو وهي يكون يمكن يوم""",
    "zh": """的 了 是 在 和 有 我 他 她 它 这 那 不 们 也 就 都 而 及 与 着
        或 之 为 以 于 其 等 被 把 从 到 對 对 個 个 說 说 會 会 這 們""",
}


@cache
def get_stop_words(language: str) -> frozenset[str]:
    """Return the stop words of the language with a two-letter code, folded like the words of a
    text: in lower case without accents. Return an empty set for an unknown language.
    """
    return frozenset(
        part for word in _WORDS.get(language, "").split() for part in split_words(word)
    )


def list_languages() -> tuple[str, ...]:
    """Return the two-letter codes of the languages with a list of stop words."""
    return tuple(language for language, words in _WORDS.items() if words)


def find_query_stop_words(query_words: Iterable[str]) -> frozenset[str]:
    """Return the stop words of the language that a query seems to be written in.

    `query_words` are in lower case without accents. The language is the one with the most stop
    words among the query words; of several such languages, the first in the list. It is English if
    no language has two of them: "war crimes" is not German although "war" is a German stop word.
    """
    distinct_words = set(query_words)
    counts = {
        language: len(distinct_words & get_stop_words(language)) for language in list_languages()
    }
    likeliest_language = max(counts, key=lambda language: counts[language])
    is_language_clear = counts[likeliest_language] >= LANGUAGE_WORDS_MIN
    return get_stop_words(likeliest_language if is_language_clear else DEFAULT_LANGUAGE)
